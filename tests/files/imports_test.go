package files

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"users-api/tests/program"
)

// namesAndEmails returns who is stored, in the order of the list.
func namesAndEmails(t *testing.T, p *program.Program) (all [][2]string) {
	t.Helper()
	for _, user := range p.List(t) {
		all = append(all, [2]string{user.Name, user.Email})
	}
	return all
}

// Each import goes into a table of Ada (1) and Alan (2).
func TestAnImportIsAllOrNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	const ada, alan = "1 Ada ada", "2 Alan alan"
	const emptyCSV = `{"error":"The file is empty: its first line must name the columns, name and email among them"}`
	const emptyNDJSON = `{"error":"The file is empty: each line must be a JSON object with a name and an email"}`
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for _, test := range []struct {
		name, path, body string
		status           int
		answer           string
		want             []string
	}{
		{"new users", program.CSV, "name,email\nB,b\nC,c\n", 200, program.Imported(2, 0, 0, 0),
			[]string{ada, alan, "3 B b", "4 C c"}},
		{"new users as NDJSON", program.NDJSON, `{"name":"B","email":"b"}` + "\n", 200, program.Imported(1, 0, 0, 0),
			[]string{ada, alan, "3 B b"}},
		{"ignored columns", program.CSV, "id, Fax ,name,email,\n7,1,B,b,\n", 200,
			`{"created":1,"updated":0,"skipped":0,"deleted":0,"ignored_columns":["id","Fax",""]}`,
			[]string{ada, alan, "3 B b"}},
		{"a dry run", program.CSV + "?dry_run=true", "name,email\nB,b\n", 200, program.Imported(1, 0, 0, 0), []string{ada, alan}},
		{"refused rows", program.CSV, "name,email\nB,b\n,c\nX,ada\nY,b\n", 422,
			`{"error":"3 of 4 rows cannot be imported; nothing was stored","rows":[` +
				`{"line":3,"error":"Name is required"},` +
				`{"line":4,"error":"Email is already used by another user"},` +
				`{"line":5,"error":"Email is already used by an earlier row of the file"}]}`, []string{ada, alan}},
		{"refused rows of a dry run", program.CSV + "?dry_run=true", "name,email\nX,ada\n", 422,
			`{"error":"1 of 1 row cannot be imported; nothing was stored","rows":[` +
				`{"line":2,"error":"Email is already used by another user"}]}`, []string{ada, alan}},
		{"skip", program.CSV + "?on_conflict=skip", "name,email\nX,ada\nB,b\n", 200, program.Imported(1, 0, 1, 0),
			[]string{ada, alan, "3 B b"}},
		{"update", program.CSV + "?on_conflict=update", "name,email\nX,ada\nAlan,alan\n", 200, program.Imported(0, 1, 1, 0),
			[]string{"1 X ada", alan}},
		{"the table becomes the file", program.CSV + roster + "1", "name,email\nX,ada\nB,b\n", 200,
			deleting(1, 1, 0, 1, `{"id":2,"email":"alan"}`), []string{"1 X ada", "3 B b"}},
		{"too many deletes", program.CSV + roster + "0", "name,email\nAda,ada\n", 422,
			`{"error":"1 user is not in the file and would be deleted, and max_deletes is 0; nothing was stored","rows":[],` +
				`"deleted_users":[{"id":2,"email":"alan"}]}`,
			[]string{ada, alan}},
		{"an empty file", program.CSV + roster + "2", "\n", 400, emptyCSV, []string{ada, alan}},
		{"a file without rows", program.CSV + roster + "2", "name,email\n", 400,
			`{"error":"The file has no rows: on_missing=delete would delete every user"}`, []string{ada, alan}},
		{"a file without rows that deletes no user", program.CSV, "name,email\n", 200, program.Imported(0, 0, 0, 0),
			[]string{ada, alan}},
		{"an empty NDJSON file", program.NDJSON + roster + "2", "", 400, emptyNDJSON, []string{ada, alan}},
		{"an NDJSON file of blank lines", program.NDJSON + roster + "2", "\ufeff\n \t\r\n\n", 400, emptyNDJSON,
			[]string{ada, alan}},
		{"an empty NDJSON file that deletes no user", program.NDJSON, "", 400, emptyNDJSON, []string{ada, alan}},
		{"a dry run of an empty NDJSON file", program.NDJSON + "?dry_run=true", " ", 400, emptyNDJSON,
			[]string{ada, alan}},
		{"a dry run as NDJSON", program.NDJSON + "?dry_run=true", `{"name":"B","email":"b"}`, 200, program.Imported(1, 0, 0, 0),
			[]string{ada, alan}},
		{"skip as NDJSON", program.NDJSON + "?on_conflict=skip", `{"name":"X","email":"ada"}`, 200, program.Imported(0, 0, 1, 0),
			[]string{ada, alan}},
		{"update as NDJSON", program.NDJSON + "?on_conflict=update", `{"name":"X","email":"ada"}`, 200, program.Imported(0, 1, 0, 0),
			[]string{"1 X ada", alan}},
		{"the table becomes the NDJSON file", program.NDJSON + roster + "1", `{"name":"X","email":"ada"}`, 200,
			deleting(0, 1, 0, 1, `{"id":2,"email":"alan"}`), []string{"1 X ada"}},
		{"too many deletes as NDJSON", program.NDJSON + roster + "0", `{"name":"Ada","email":"ada"}`, 422,
			`{"error":"1 user is not in the file and would be deleted, and max_deletes is 0; nothing was stored","rows":[],` +
				`"deleted_users":[{"id":2,"email":"alan"}]}`,
			[]string{ada, alan}},
		{"a parameter that does not exist", program.CSV + "?dryrun=true", "name,email\nB,b\n", 400,
			`{"error":"Unknown parameter \"dryrun\": an import takes dry_run, on_conflict, on_missing, max_deletes and spreadsheet"}`,
			[]string{ada, alan}},
		{"a parameter of the other format", program.NDJSON + "?spreadsheet=true", "", 400,
			`{"error":"Unknown parameter \"spreadsheet\": an import takes dry_run, on_conflict, on_missing and max_deletes"}`,
			[]string{ada, alan}},
		{"dry_run=yes", program.CSV + "?dry_run=yes", "name,email\nB,b\n", 400,
			`{"error":"The parameter dry_run must be true or false"}`, []string{ada, alan}},
		{"on_conflict=replace", program.CSV + "?on_conflict=replace", "", 400,
			`{"error":"The parameter on_conflict must be fail, skip or update"}`, []string{ada, alan}},
		{"on_missing=keep", program.CSV + "?on_missing=keep", "", 400,
			`{"error":"The parameter on_missing must be delete"}`, []string{ada, alan}},
		{"max_deletes=-1", program.CSV + roster + "-1", "", 400,
			`{"error":"The parameter max_deletes must be a whole number from 0 to 1000000000"}`, []string{ada, alan}},
		{"on_missing alone", program.CSV + "?on_missing=delete&max_deletes=1", "", 400,
			`{"error":"The parameter on_missing must come with on_conflict=update: the table becomes what the file says"}`,
			[]string{ada, alan}},
		{"on_missing without a bound", program.CSV + "?on_missing=delete&on_conflict=update", "", 400,
			`{"error":"The parameter on_missing must come with max_deletes: how many users may be deleted at most"}`,
			[]string{ada, alan}},
		{"max_deletes alone", program.CSV + "?max_deletes=1", "", 400,
			`{"error":"The parameter max_deletes must come with on_missing=delete"}`, []string{ada, alan}},
	} {
		t.Run(test.name, func(t *testing.T) {
			other.Empty()
			p.Create(t, "Ada", "ada")
			p.Create(t, "Alan", "alan")
			p.Do(t, "POST", test.path, test.body).Expect(t, test.status, test.answer)
			var got []string
			for _, user := range p.List(t) {
				got = append(got, fmt.Sprintf("%d %s %s", user.ID, user.Name, user.Email))
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("stored are %q, want %q", got, test.want)
			}
		})
	}
}

func TestAFormIsRefusedWithTheCommandThatWorks(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for path, file := range map[string]string{program.CSV: "people.csv", program.NDJSON: "people.ndjson"} {
		form := p.Do(t, "POST", path, "--x\r\n\r\nname,email\r\n--x--\r\n", "Content-Type: multipart/form-data; boundary=x")
		form.Expect(t, 415, `{"error":"Send the file itself to the same URL, not a form: curl --data-binary @`+file+` URL"}`)
	}
	p.Do(t, "POST", program.CSV, "name,email\nA,\n", "Accept: application/problem+json").Expect(t, 422,
		`{"type":"about:blank","title":"Unprocessable Entity","status":422,`+
			`"detail":"1 of 1 row cannot be imported; nothing was stored","code":"rows_refused","rows":[`+
			`{"line":2,"error":"Email is required","code":"field_missing"}]}`)
}

// The files in testdata/imports hold the same people as Excel, LibreOffice, pandas and others write them.
func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	want := [][2]string{
		{"Ada Lovelace", "ada@example.org"}, {"King, Martin Luther, Jr.", "king@example.org"},
		{`Grace "Amazing" Hopper`, "grace@example.org"}, {"Zoë Müller-Łukasz; Frau", "zoe@example.org"},
		{"李小龍 😀\r\nBruce", "lee@example.org"}, {"=SUM(1+2)", "formula@example.org"},
	}
	files, err := filepath.Glob("testdata/imports/*")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text := program.ReadFile(t, file)
			path := program.CSV
			if strings.HasSuffix(file, "ndjson") {
				path = program.NDJSON
			}
			p := program.Serve(t)
			p.Do(t, "POST", path, text).Expect(t, 200, "…")
			if got := namesAndEmails(t, p); !reflect.DeepEqual(got, want) {
				t.Errorf("stored are %q", got)
			}
		})
	}
}

func TestTheSameFileTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	text := program.ReadFile(t, "../testdata/people.csv")
	const roster = program.CSV + "?on_conflict=update&on_missing=delete&max_deletes=0"
	p.Do(t, "POST", roster, text).Expect(t, 200, deleting(100, 0, 0, 0))
	before := p.Do(t, "GET", "/api/users", "")
	p.Do(t, "POST", roster, text).Expect(t, 200, deleting(0, 0, 100, 0))
	after := p.Do(t, "GET", "/api/users", "")
	after.Expect(t, 200, before.Body)
	program.ExpectHeader(t, after, "ETag", before.Header.Get("ETag"))
	if id := p.Create(t, "Next", "next"); id != 101 {
		t.Errorf("the next user has the id %d", id)
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "IMPORT_MAX_MIB=2")
	fits := "name,email\n" + strings.Repeat("n", 1<<20) + ",e\n"
	p.Do(t, "POST", program.CSV, fits).Expect(t, 200, "…")
	for path, file := range map[string]string{program.CSV: "name,email\n" + strings.Repeat("n,e\n", 3<<18), program.NDJSON: strings.Repeat("\n", 2<<20+1)} {
		program.ImportRefused(t, p, path, file).Expect(t, 413, `{"error":"The request body is larger than 2 MiB"}`)
	}
	program.ImportRefused(t, p, "/api/users", fits).Expect(t, 413, "…") // which other bodies may not be
	program.ExpectNoSpool(t, p)
}
