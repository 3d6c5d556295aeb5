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
	columns   int  // how many of its values have begun
	rowLine   int  // the line in which the row begins
	line      int
}

func newLineBreaks(from io.Reader, delimiter byte) *lineBreaks {
	return &lineBreaks{from: from, delimiter: delimiter, columns: 1, rowLine: 1, line: 1}
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
	for {
		n, err := b.from.Read(into)
		kept := into[:0]
		for _, char := range into[:n] {
			if b.afterCR && char == '\n' {
				b.afterCR = false
				continue
			}
			kept = append(kept, b.next(char))
			if b.row > largestRow || b.columns > mostColumns {
				return len(kept), b.tooLong()
			}
		}
		if len(kept) > 0 || err != nil {
			return len(kept), err
		}
	}
}

func (b *lineBreaks) tooLong() error {
	if b.columns > mostColumns {
		return badRequest("The row in line %d has more than %d values", b.rowLine, mostColumns)
	}
	return badRequest("The row in line %d is longer than 4 MiB: a quote that ends a value may be missing", b.rowLine)
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
		b.line++
	}
	switch {
	case b.state == valueStart && char == '\n':
		b.row, b.columns, b.rowLine = 0, 1, b.line
	case b.state == valueStart:
		b.columns++
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
