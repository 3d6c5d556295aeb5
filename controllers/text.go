package controllers

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// largestRow is how many bytes a row of a file may have. It is more than the body that creates one user, so that every
// user fits in, however the format writes them: in JSON a line separator has three bytes, or six as an escape.
const largestRow = 4 << 20

// mostColumns is how many values a row of a file may have: as many as a spreadsheet has columns.
const mostColumns = 1 << 14

// largestHeader is how many bytes the header of a file may have.
const largestHeader = 64 << 10

// otherKinds are how files begin that are no text, and what to do about each.
var otherKinds = []struct{ magic, sentence string }{
	{"\x1f\x8b", "The file is compressed: send it as it was before"},
	{"PK\x03\x04", "The file is a workbook or a zip file, and not text: save it as CSV"},
	{"\xd0\xcf\x11\xe0", "The file is a workbook, and not text: save it as CSV"},
}

// fileText is a file as UTF-8, without a byte order mark.
type fileText struct {
	*bufio.Reader
	wasUTF16 bool // and what was no text in it is U+FFFD now
}

// openText looks at the first bytes of a file.
func openText(body io.Reader) (fileText, error) {
	in := bufio.NewReaderSize(body, largestHeader)
	begin, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return fileText{}, unreadable(err)
	}
	for _, kind := range otherKinds {
		if bytes.HasPrefix(begin, []byte(kind.magic)) {
			return fileText{}, badRequest("%s", kind.sentence)
		}
	}
	switch {
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3) // they are there
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		decoded := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Reader(in)
		return fileText{bufio.NewReaderSize(decoded, largestHeader), true}, nil
	}
	return fileText{in, false}, nil
}
