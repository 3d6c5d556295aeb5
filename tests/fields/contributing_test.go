package fields

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheChangeInCONTRIBUTINGAddsAFieldThatEveryServiceHas(t *testing.T) {
	t.Parallel()
	binary := buildWithBadge(t)
	p := program.Start(t, binary, "USER_FIELDS=room")
	p = p.At(p.URL) // the tests do not know the document of the copy
	expect(t, p,
		exchange{"a user has it before those of the setting", "POST /api/users",
			`{"name":"Ada","email":"ada","badge":"1815","room":"7"}`,
			`201 {"id":1,"name":"Ada","email":"ada","badge":"1815","room":"7"}`},
		exchange{"a filter finds it", "GET /api/users?badge=1815", "",
			`200 [{"id":1,"name":"Ada","email":"ada","created_at":"T","badge":"1815","room":"7"}]`},
		exchange{"a file has it", "GET /api/users.csv", "",
			program.WithoutOwn("200 id,name,email,created_at,badge,room\r\n1,Ada,ada,T,1815,7\r\n")},
		exchange{"an import changes it", "POST /api/users.csv?on_conflict=update", "name,email,badge\nAda,ada,1912\n",
			"200 " + program.Imported(0, 1, 0, 0)},
		exchange{"the page asks for it", "GET /", "", `200 …data-field="badge"…`},
		exchange{"the document explains it", "GET /openapi.json", "", `200 …"badge"…`},
	)
	refused := program.Launch(t, binary, "USER_FIELDS=badge")
	program.ExpectRefusal(t, refused, `USER_FIELDS is \"badge\": every user has the field badge already`)
	expectWayOn(t, binary)
}

// expectWayOn starts the changed program on a database from before the change: the error names the command that adds the column.
func expectWayOn(t *testing.T, binary string) {
	t.Helper()
	directory, id, created := t.TempDir(), "INTEGER", "TEXT"
	if program.PostgreSQL {
		id, created = "bigserial", "timestamptz DEFAULT now()"
	}
	program.OpenOther(t, filepath.Join(directory, "users.db")).Do("CREATE TABLE IF NOT EXISTS users (id "+id+
		" PRIMARY KEY, name text, email text UNIQUE, created_at "+created+")", "INSERT INTO users (name, email) VALUES ('Ada', 'ada')")
	refused := program.Launch(t, binary, "DATA_DIR="+directory)
	program.ExpectRefusal(t, refused, "the table users has no column", "run `users-api add-field badge`")
	program.Forbid(t, refused.Log(), "USER_FIELDS")
	for name := range strings.SplitSeq(strings.Trim("badge,"+strings.ReplaceAll(program.OwnColumns(), "badge,", ""), ","), ",") {
		refused.Run(t, "add-field", name).MustSucceed(t)
	}
	p := program.Start(t, binary, "DATA_DIR="+directory)
	expect(t, p.At(p.URL), exchange{"the value", "PATCH /api/users/1", `{"badge":"1815"}`, `200 {"id":1,…"badge":"1815"}`})
}
