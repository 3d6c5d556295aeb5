package files

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// refusedFiles are files for a service that has Ada, by the codes of the problems that they get: the import's, and those of
// its rows.
var refusedFiles = []struct{ name, path, file, code, rows string }{
	{"an empty file", program.CSV, "", "file_invalid", ""},
	{"an empty NDJSON file", program.NDJSON, "", "file_invalid", ""},
	{"one line", program.CSV, "name,email", "file_invalid", ""},
	{"a header without email", program.CSV, "name\nA\n", "file_invalid", ""},
	{"a column twice", program.CSV, "name,email,name\nA,b,c\n", "file_invalid", ""},
	{"a header that cannot be read", program.CSV, "name,\"email\"x\nA,b\n", "file_invalid", ""},
	{"NUL bytes", program.CSV, "n\x00a\x00m\x00e\x00\n", "file_invalid", ""},
	{"a workbook", program.CSV, "PK\x03\x04", "file_invalid", ""},
	{"a compressed file", program.NDJSON, "\x1f\x8b\x08\x00", "file_invalid", ""},
	{"more values than a spreadsheet has", program.CSV, "name,email\n" + strings.Repeat(",", 1<<15), "file_invalid", ""},
	{"rows that cannot be read", program.CSV, "name,email\nA\nA,\"b\"c\nA,b\"c\nA,\xff\n", "rows_refused",
		"file_invalid file_invalid file_invalid file_invalid"},
	{"rows without an email, and with one that is used", program.CSV, "name,email\nA,\nX,ada\nB,b\nC,b\n", "rows_refused",
		"field_missing email_used email_used"},
	{"lines that are no users", program.NDJSON, "{\n[]\n{\"name\":1}\n{}\n", "rows_refused",
		"body_invalid body_invalid field_invalid field_missing"},
	{"too many deletions", program.CSV + roster + "0", "name,email\nB,b\n", "too_many_deletions", ""},
	{"a parameter that does not exist", program.CSV + "?dryrun=true", "name,email\nB,b\n", "parameter_unknown", ""},
	{"a value that a parameter may not have", program.CSV + "?dry_run=yes", "name,email\nB,b\n", "parameter_invalid", ""},
	{"a parameter without another", program.CSV + "?max_deletes=1", "name,email\nB,b\n", "parameter_invalid", ""},
}

func TestEveryRefusalOfAFileHasACode(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	for _, c := range refusedFiles {
		t.Run(c.name, func(t *testing.T) {
			answer := p.Do(t, "POST", c.path, c.file, "Accept: application/problem+json")
			var problem struct {
				Code string
				Rows []struct{ Code string }
			}
			program.Must(t, json.Unmarshal([]byte(answer.Body), &problem))
			rows := strings.Trim(fmt.Sprint(problem.Rows), "[]{}")
			if rows = strings.ReplaceAll(rows, "} {", " "); problem.Code != c.code || rows != c.rows {
				t.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			plain := p.Do(t, "POST", c.path, c.file)
			if strings.Contains(plain.Body, c.code) || strings.Contains(plain.Body, `"code"`) {
				t.Errorf("other clients are answered %s", plain.Body)
			}
		})
	}
	program.ExpectHeader(t, p.Do(t, "GET", "/api/users?count=true", ""), "X-Total-Count", "1")
}

func TestAFormAndALargeFileHaveCodes(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "IMPORT_MAX_MIB=1")
	for code, answer := range map[string]program.Answer{
		"form_refused": p.Do(t, "POST", program.CSV, "--x--", "Content-Type: multipart/form-data; boundary=x",
			"Accept: application/problem+json"),
		"body_too_large": program.ImportRefused(t, p, program.CSV, "name,email\n"+strings.Repeat("A,b\n", 1<<19), "Accept: application/problem+json"),
	} {
		if !strings.Contains(answer.Body, `"code":"`+code+`"`) {
			t.Errorf("answered %d %s, want %s", answer.Status, answer.Body, code)
		}
	}
}
