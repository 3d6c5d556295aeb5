//go:build !postgres

package api

import (
	"fmt"
	"slices"
	"testing"

	"users-api/tests/program"
)

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

// ofEngine are statements that only SQLite has. The triggers of the feed see what REPLACE removes if the program asks
// for it.
var ofEngine = []string{
	"PRAGMA recursive_triggers = ON; " +
		"REPLACE INTO users (name, email) SELECT 'replaced', email FROM users WHERE id % 7 = 1",
	"REPLACE INTO users (id, name, email) SELECT id, 'replaced', email || 'r' FROM users WHERE id % 7 = 2",
	"UPDATE OR REPLACE users SET id = id + 3, email = 'moved' || id WHERE id % 97 = 4",
	"DELETE FROM users WHERE id % 37 = 5; VACUUM",
}

func TestCursorsAreNotUsedAgainOnceAnotherProgramEmptiesTheFeed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	var cursors []string
	create := func() {
		for range 5 {
			p.Create(t, "n", fmt.Sprint(len(cursors)))
			cursor := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
			program.Expect(t, "whether the cursor "+cursor+" was used before", slices.Contains(cursors, cursor), false)
			cursors = append(cursors, cursor)
		}
	}
	create()
	program.OpenOther(t, p.DatabasePath()).Do("DELETE FROM users_changes")
	p.Do(t, "GET", "/api/changes?after="+cursors[4], "").Expect(t, 200, `{"changes":[],"next":"`+cursors[4]+`"}`)
	create()
	p.Do(t, "GET", "/api/changes?after="+cursors[0], "").Expect(t, 410, "…")
}
