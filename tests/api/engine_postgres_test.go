//go:build postgres

package api

// What these tests need to know of PostgreSQL. engine_sqlite_test.go is the other side.
const (
	nul, nulEscaped = "chr(1)", "%01" // as an expression and in a URL: PostgreSQL has no NUL
	firstCharacter  = rune(1)         // that a user may have
	timeType        = "timestamptz"   // of created_at
)

// nulStored is what becomes of a NUL byte in a body: PostgreSQL refuses it.
var nulStored = scenario{"NUL is refused by storage", post, `{"name":"\"\\\u0000","email":"a@b"}`, 500,
	`{"error":"ERROR: invalid byte sequence for encoding \"UTF8\": 0x00 (SQLSTATE 22021)"}`}

// nulChanged is what becomes of a NUL byte in a change.
var nulChanged = scenario{"NUL is refused by storage in a change", patch, `{"name":"\u0000"}`, 500, nulStored.answer}
