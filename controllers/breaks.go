package controllers

import "io"

// lineBreaks turns CRLF and CR outside quotes into LF. Within quotes it hides each CR from encoding/csv, which would
// remove it before a LF: a name that contains CRLF must come back as it was exported. It also stops at a row that is
// too long, before all of the row is in memory.
type lineBreaks struct {
	from      io.Reader
	delimiter byte
	state     valueState
	afterCR   bool // outside quotes
	row       int  // how many bytes of the row have been read
	ended     int  // how many of its values have ended
	before    int  // how many lines are before the row
	lines     int  // how many lines have ended
}

type valueState int

const (
	valueStart valueState = iota
	unquoted
	inQuotes
	quoteSeen // within quotes: it ends them, unless another quote follows
)

// UTF-8 contains neither of these bytes. One stands for a hidden CR, and the other for a byte in the file that has the
// value of the first, so that it is refused.
const (
	hiddenCR  = 0xff
	otherByte = 0xfe
)

func (b *lineBreaks) Read(into []byte) (int, error) {
	n, err := b.from.Read(into)
	kept := into[:0] // nothing, if a LF after CR arrived alone: then encoding/csv reads again
	for _, char := range into[:n] {
		if b.afterCR && char == '\n' {
			b.afterCR = false
			continue
		}
		kept = append(kept, b.next(char))
		switch {
		case b.ended >= mostColumns:
			return len(kept), newError(fileInvalid,
				"The row in line %d has more than %d values", b.before+1, mostColumns)
		case b.row > largestRow:
			return len(kept), newError(fileInvalid,
				"The row in line %d is longer than 4 MiB: a quote that ends a value may be missing", b.before+1)
		}
	}
	return len(kept), err
}

// next returns what encoding/csv reads for a byte.
func (b *lineBreaks) next(char byte) byte {
	b.afterCR = char == '\r' && b.state != inQuotes
	switch {
	case char == hiddenCR:
		char = otherByte
	case b.afterCR:
		char = '\n'
	case char == '\r':
		char = hiddenCR
	}
	b.state = b.state.after(char, b.delimiter)
	b.row++
	if char == '\n' {
		b.lines++
	}
	switch {
	case b.state == valueStart && char == '\n':
		b.row, b.ended, b.before = 0, 0, b.lines
	case b.state == valueStart:
		b.ended++
	}
	return char
}

// after returns the state after a byte, as encoding/csv sees it.
func (s valueState) after(char, delimiter byte) valueState {
	switch {
	case char == '"' && s == inQuotes:
		return quoteSeen
	case s == inQuotes, char == '"' && s != unquoted:
		return inQuotes
	case char == delimiter, char == '\n':
		return valueStart
	default:
		return unquoted
	}
}
