//go:build !postgres

package api

// What these tests need to know of SQLite. postgres_test.go is the other side.
const (
	nul, nulEscaped = "char(0)", "%00" // as an expression and in a URL
	firstCharacter  = rune(0)          // that a user may have
	timeType        = "TEXT"           // of created_at
)

// nulStored is what becomes of a NUL byte in a body: it is stored.
var nulStored = scenario{"quotes, backslashes and NUL come back", post, `{"name":"\"\\\u0000","email":"a@b"}`, 201,
	`{"id":2,"name":"\"\\\u0000","email":"a@b"}`}

// nulChanged is what becomes of a NUL byte in a change.
var nulChanged = scenario{"NUL is stored", patch, `{"name":"\u0000"}`, 200, `{"id":1,"name":"\u0000","email":"…`}
