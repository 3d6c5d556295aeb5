package spool

import (
	"encoding/binary"

	"users-api/models"
)

// A record is a user, or a row of a file: a number (its id or line), the values of its fields, and what else it has.

// appendValues appends the values of all fields. The length of a text is one more than its bytes; 0 stands for NULL.
func appendValues(to []byte, fields models.Fields, user *models.NewUser) []byte {
	for _, field := range fields {
		if text := field.Value(user); text != nil {
			to = appendText(to, *text)
		} else {
			to = binary.AppendUvarint(to, 0)
		}
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))+1), text...)
}

// record reads what was appended, in the same order.
type record struct{ rest []byte }

func (r *record) number() int64 {
	number, n := binary.Varint(r.rest)
	r.rest = r.rest[n:]
	return number
}

func (r *record) text() (text string, isNull bool) {
	length, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	if length == 0 {
		return "", true
	}
	text = string(r.rest[:length-1])
	r.rest = r.rest[length-1:]
	return text, false
}

func (r *record) values(fields models.Fields, user *models.NewUser) {
	user.Added = nil // an earlier user keeps its own
	for _, field := range fields {
		if text, isNull := r.text(); isNull {
			field.SetNull(user)
		} else {
			field.Set(user, text)
		}
	}
}
