package controllers

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

const (
	largestHeader = 64 << 10 // in bytes
	mostColumns   = 1 << 14  // as many as a spreadsheet has

	// largestRow is the maximum size of a row, in bytes. It is larger than the body that creates one user, so that every
	// user fits, however the format writes it: in JSON a line separator takes three bytes, or six as an escape.
	largestRow = 4 << 20
)

// otherKinds are the first bytes of files that are not text, and what to do about each.
var otherKinds = []struct{ magic, sentence string }{
	{"\x1f\x8b", "The file is compressed: send it as it was before"},
	{"PK\x03\x04", "The file is a workbook or a zip file, and not text: save it as CSV"},
	{"\xd0\xcf\x11\xe0", "The file is a workbook, and not text: save it as CSV"},
}

// fileText is a file as UTF-8, without a byte order mark.
type fileText struct {
	*bufio.Reader
	wasUTF16 bool // then what was not valid text in it is now U+FFFD
}

// openText checks the first bytes of a file, and decodes UTF-16.
func openText(body io.Reader) (fileText, error) {
	in := bufio.NewReaderSize(body, largestHeader)
	begin, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return fileText{}, unreadable(err)
	}
	for _, kind := range otherKinds {
		if bytes.HasPrefix(begin, []byte(kind.magic)) {
			return fileText{}, newError(fileInvalid, "%s", kind.sentence)
		}
	}
	switch {
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3) // Peek has read them
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		decoded := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Reader(in)
		return fileText{bufio.NewReaderSize(decoded, largestHeader), true}, nil
	}
	return fileText{in, false}, nil
}
