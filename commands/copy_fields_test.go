//go:build postgres

package commands

import (
	"log/slog"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// withColumns are the statements that give users three more columns, and values of every kind.
var withColumns = []string{
	"ALTER TABLE users ADD COLUMN room TEXT", "ALTER TABLE users ADD COLUMN floor INTEGER",
	"ALTER TABLE users ADD COLUMN photo BLOB",
	`INSERT INTO users (name, email, room, floor, photo) VALUES ('Ada', 'ada', '7', 2, x'00'), ('Alan', 'alan', NULL, NULL, NULL),
		('Grace', 'grace', '', 0, NULL), ('Max', 'max', '\N', 3, NULL), ('Emmy', 'emmy', char(10) || '"{}', '4a', NULL)`,
}

func TestACopyHasTheFieldsOfTheSettingAndNamesWhatItLeavesBehind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ setting, left string }{
		"no field":                              {"", "left behind, because USER_FIELDS does not name them: room, floor, photo\n"},
		"a field of text":                       {"room", "left behind, because USER_FIELDS does not name them: floor, photo\n"},
		"a field of numbers, and another order": {"floor,room", "left behind, because USER_FIELDS does not name them: photo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, url := newFile(t, withColumns...), postgresql.Shared(t).NewDatabase(t)
			code, says := runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url, "USER_FIELDS="+test.setting)
			first, left, _ := strings.Cut(says, "\n")
			if code != 0 || !strings.HasPrefix(first, "copied and compared: 5 users") || left != test.left {
				t.Fatalf("the copy ended with %d, and said %s", code, says)
			}
			fields := models.NewFields(strings.FieldsFunc(test.setting, func(char rune) bool { return char == ',' })...)
			source, err := sqlite.Open(ctx, f.path(), fields, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close(ctx) //nolint:errcheck // it was only read
			target, err := postgres.Open(ctx, url, fields, 0, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close(ctx) //nolint:errcheck // it was only read
			want, _ := storetest.Text(t, source)
			if got, _ := storetest.Text(t, target); got != want {
				t.Errorf("the list was\n%s\nand is\n%s", want, got)
			}
		})
	}
}

func TestACopyOfAllColumnsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f, url := newFile(t, withColumns...), postgresql.Shared(t).NewDatabase(t)
	code, says := runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url, "USER_FIELDS=photo,room,floor")
	if code != 1 || !strings.Contains(says, "SQLSTATE 22021") {
		t.Errorf("a NUL is copied with %d: %s", code, says)
	}
	f.do(t, "UPDATE users SET photo = NULL")
	code, says = runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url, "USER_FIELDS=photo,room,floor")
	if code != 0 || strings.Count(says, "\n") != 1 {
		t.Errorf("the copy ended with %d, and said %s", code, says)
	}
}

func TestAFieldThatTheFileOrTheTableLacksIsSaidOnOneLine(t *testing.T) {
	t.Parallel()
	f, url := newFile(t, withColumns...), postgresql.Shared(t).NewDatabase(t)
	code, says := runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url, "USER_FIELDS=room,city")
	expectOneLine(t, code, says, "the table users has no column city")
	expectOneLine(t, code, says, "for this file, run that without DATABASE_URL")
	postgresql.SQL(t, url, made)
	code, says = runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url, "USER_FIELDS=room")
	expectOneLine(t, code, says, "the table users has no column room")
}
