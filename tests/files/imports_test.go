package files

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// sent is an import into a table of Ada (1) and Alan (2). A refusal has codes for clients that ask for problems: the
// import's, and those of its rows.
type sent struct {
	name, path, file string // header lines may follow the path
	status           int
	answer, codes    string
	want             string // is stored then
}

const kept = "1 Ada ada, 2 Alan alan"

func refusedRows(n, of string, rows string) string {
	return `{"error":"` + n + " of " + of + ` cannot be imported; nothing was stored","rows":[` + rows + "]}"
}

const skipping = "?on_error=skip"

// skipped is the answer to an import that has left rows out.
func skipped(created, updated, skipped, refused int, rows string) string {
	return fmt.Sprintf(`{"created":%d,"updated":%d,"skipped":%d,"deleted":0,"refused":%d,"rows":[%s],"ignored_columns":[]}`,
		created, updated, skipped, refused, rows)
}

// inEither are sent as CSV, and as NDJSON with a blank line in place of the header. Their path is what stands behind
// that of the format, and their file has a name and an email in each line.
var inEither = []sent{
	{"new users", "", "B,b\nC,c", 200, program.Imported(2, 0, 0, 0), "", kept + ", 3 B b, 4 C c"},
	{"a dry run", "?dry_run=true", "B,b", 200, program.Imported(1, 0, 0, 0), "", kept},
	{"refused rows", "", "B,b\n,c\nC,\nX,ada\nY,b", 422, refusedRows("4", "5 rows",
		`{"line":3,"error":"Name is required"},{"line":4,"error":"Email is required"},`+
			`{"line":5,"error":"Email is already used by another user"},`+
			`{"line":6,"error":"Email is already used by the row in line 2"}`),
		"rows_refused field_missing field_missing email_used email_used", kept},
	{"good rows beside refused ones", skipping, "B,b\n,c\nC,\nX,ada\nY,b\nD,d", 200, skipped(2, 0, 0, 4,
		`{"line":3,"error":"Name is required"},{"line":4,"error":"Email is required"},`+
			`{"line":5,"error":"Email is already used by another user"},`+
			`{"line":6,"error":"Email is already used by the row in line 2"}`),
		"", kept + ", … B b, … D d"},
	{"refused rows beside an update", skipping + "&on_conflict=update", "X,ada\n,c\nAlan,alan\nB,b", 200,
		skipped(1, 1, 1, 1, `{"line":3,"error":"Name is required"}`), "", "1 X ada, 2 Alan alan, 3 B b"},
	{"on_error with on_missing", roster + "2&on_error=skip", "B,b", 400, program.ErrorBody(
		"The parameter on_error cannot come with on_missing: it would delete the users whose rows are refused"),
		"parameter_invalid", kept},
	{"skip", "?on_conflict=skip", "X,ada\nB,b", 200, program.Imported(1, 0, 1, 0), "", kept + ", 3 B b"},
	{"update", "?on_conflict=update", "X,ada\nAlan,alan", 200, program.Imported(0, 1, 1, 0), "",
		"1 X ada, 2 Alan alan"},
	{"the table becomes the file", roster + "1", "X,ada\nB,b", 200, deleting(1, 1, 0, 1, `{"id":2,"email":"alan"}`), "",
		"1 X ada, 3 B b"},
	{"too many deletions, and an email with a blank", roster + "0", "Ada,ada\nB,b ", 422, blanks(
		`{"error":"1 user is not in the file and would be deleted, and max_deletes is 0; nothing was stored",`+
			`"rows":[],"deleted_users":[{"id":2,"email":"alan"}]}`, "1 email begins or ends", 3), "too_many_deletions", kept},
	{"a name that is kept", "?on_conflict=update&empty=keep", ",ada\n,b\nC,c\n,c", 422,
		refusedRows("1", "4 rows", `{"line":3,"error":"Name is required"}`), "rows_refused field_missing", kept},
	{"emails with blanks", "", "B, b\nC,b\nD,b\u00a0", 200, blanks(program.Imported(3, 0, 0, 0), "2 emails begin or end", 2), "",
		kept + ", 3 B  b, 4 C b, 5 D b\u00a0"},
	{"on_missing alone", "?on_missing=delete&max_deletes=1", "B,b", 400,
		`{"error":"The parameter on_missing must come with on_conflict=update: the table becomes what the file says"}`,
		"parameter_invalid", kept},
	{"max_deletes alone", "?max_deletes=1", "B,b", 400,
		`{"error":"The parameter max_deletes must come with on_missing=delete"}`, "parameter_invalid", kept},
}

// blanks is an answer with a warning about emails.
func blanks(answer, emails string, line int) string {
	return strings.TrimSuffix(answer, "}") +
		fmt.Sprintf(`,"warnings":["%s with a blank (see line %d), and is another one than without it"]}`, emails, line)
}

const (
	form      = "\nContent-Type: multipart/form-data; boundary=x"
	multipart = "--x\r\n\r\nname,email\r\n--x--\r\n"
	brotli    = "\nContent-Encoding: identity, BR"
	packed    = `{"error":"The file is compressed: send it uncompressed"}`
)

// useCurl is what is said of a form: the command that works.
func useCurl(file string) string {
	return program.ErrorBody("Send the file itself to the same URL, not a form: curl --data-binary @" + file + " URL")
}

// inOne are of one format.
var inOne = []sent{
	{"ignored columns", program.CSV, "id, Fax ,name,email,\n7,1,B,b,\n", 200,
		`{"created":1,"updated":0,"skipped":0,"deleted":0,"ignored_columns":["id","Fax",""]}`, "", kept + ", 3 B b"},
	{"an empty file", program.CSV + roster + "2", "\n", 400,
		`{"error":"The file is empty: its first line must name the columns, name and email among them"}`,
		"file_invalid", kept},
	{"a file without rows", program.CSV + roster + "2", "name,email\n", 400,
		`{"error":"The file has no rows: on_missing=delete would delete every user"}`, "file_invalid", kept},
	{"an empty NDJSON file", program.NDJSON + roster + "2", "", 400,
		`{"error":"The file is empty: each line must be a JSON object with name and email"}`,
		"file_invalid", kept},
	{"a parameter that does not exist", program.CSV + "?dryrun=true", "name,email\nB,b\n", 400, program.ErrorBody(
		`Unknown parameter "dryrun": an import takes dry_run, on_conflict, empty, on_error, on_missing, max_deletes and spreadsheet`),
		"parameter_unknown", kept},
	{"a header without email", program.CSV, "name,mail\nA,a\n", 400, program.ErrorBody(
		`The first line of the file must name the columns: it has "name", "mail"; "email" is missing`), "file_invalid", kept},
	{"rows that cannot be read", program.CSV, "name,email\nA\nA,\"b\"c\nA,b\"c\nA,\rb\n", 422, "…",
		"rows_refused file_invalid file_invalid file_invalid file_invalid", kept},
	{"a form", program.CSV + form, multipart, 415, useCurl("people.csv"), "form_refused", kept},
	{"a gzip file", program.CSV, "\x1f\x8b\x08\x00", 400, packed, "file_invalid", kept},
	{"a file that is said to be compressed", program.CSV + brotli, "name,email\n", 400, packed, "file_invalid", kept},
	{"lines that are no users", program.NDJSON, "{}\n{\n[]\n{\"name\":1}\n", 422, "…",
		"rows_refused field_missing body_invalid body_invalid field_invalid", kept},
}

func TestAnImportIsAllOrNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	imports := slices.Concat(inOne, written)
	for _, s := range inEither {
		lines := ""
		for line := range strings.SplitSeq(s.file, "\n") {
			name, email, _ := strings.Cut(line, ",")
			lines += "\n" + program.Body(name, email)
		}
		asCSV, asNDJSON := s, s
		asCSV.path, asCSV.file = program.CSV+s.path, "name,email\n"+s.file
		asNDJSON.name, asNDJSON.path, asNDJSON.file = s.name+", as NDJSON", program.NDJSON+s.path, lines
		imports = append(imports, asCSV, asNDJSON)
	}
	for _, s := range imports {
		t.Run(s.name, func(t *testing.T) {
			other.Empty()
			p.Create(t, "Ada", "ada")
			p.Create(t, "Alan", "alan")
			header := strings.Split(s.path, "\n")
			answer := p.Do(t, "POST", header[0], s.file, header[1:]...)
			answer.Expect(t, s.status, s.answer)
			if s.codes != "" {
				header = append(header, "Accept: application/problem+json")
				expectCodes(t, p.Do(t, "POST", header[0], s.file, header[1:]...), answer, s.codes)
			}
			var got []string
			for _, user := range p.List(t) {
				got = append(got, fmt.Sprintf("%d %s %s", user.ID, user.Name, user.Email))
			}
			program.Expect(t, "what is stored", strings.Join(got, ", "), s.want)
		})
	}
}

// What the database refuses is found among the others. The response names 100 of the rows.
func TestRowsThatTheDatabaseRefusesAreLeftOut(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do(refusing...)
	file, rows := "name,email\n", []string{}
	for i := range 1000 {
		name := "Good"
		if i%7 == 0 {
			name = "Bad"
			rows = append(rows, fmt.Sprintf(`{"line":%d,"error":"…no Bad users…","code":"storage_failed"}`, 2+i))
		}
		file += fmt.Sprintf("%s,%d\n", name, i)
	}
	p.Do(t, "POST", program.CSV, file).Expect(t, 422, `{"error":"143 of 1000 rows cannot be imported; nothing was stored",…`)
	p.Do(t, "POST", program.CSV+skipping, file, "Accept: application/problem+json").
		Expect(t, 200, skipped(857, 0, 0, 143, strings.Join(rows[:100], ",")))
	program.Expect(t, "how many users there are", len(p.List(t)), 857)
	p.Do(t, "POST", program.CSV+skipping+"&on_conflict=update&dry_run=true", "name,email\nBetter,1\nBad,new\n").
		Expect(t, 200, skipped(0, 1, 0, 1, `{"line":3,"error":"…no Bad users…"}`))
}

// expectCodes compares a problem with the error that other clients get.
func expectCodes(t *testing.T, problem, plain program.Answer, codes string) {
	t.Helper()
	var said, other struct {
		Error, Detail, Code string
		Rows                []struct{ Code string }
	}
	program.Must(t, json.Unmarshal([]byte(problem.Body), &said))
	program.Must(t, json.Unmarshal([]byte(plain.Body), &other))
	for _, row := range said.Rows {
		said.Code += " " + row.Code
	}
	program.Expect(t, "the codes of the problem", said.Code, codes)
	program.Expect(t, "the problem", fmt.Sprint(problem.Status, said.Detail), fmt.Sprint(plain.Status, other.Error))
	program.Forbid(t, plain.Body, `"code"`)
}

// The files in testdata/imports hold the same people as Excel, LibreOffice, pandas and others write them.
func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	const want = `[["Ada Lovelace" "ada@example.org"] ["King, Martin Luther, Jr." "king@example.org"] ` +
		`["Grace \"Amazing\" Hopper" "grace@example.org"] ["Zoë Müller-Łukasz; Frau" "zoe@example.org"] ` +
		`["李小龍 😀\r\nBruce" "lee@example.org"] ["=SUM(1+2)" "formula@example.org"]]`
	files, err := filepath.Glob("testdata/imports/*")
	program.Must(t, err)
	program.Expect(t, "whether there are some", len(files) >= 4, true)
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for _, file := range files {
		other.Empty()
		path := map[bool]string{true: program.NDJSON, false: program.CSV}[strings.HasSuffix(file, "ndjson")]
		p.Do(t, "POST", path, program.ReadFile(t, file)).To(file).Expect(t, 200, "…")
		var people [][]string
		for _, user := range p.List(t) {
			people = append(people, []string{user.Name, user.Email})
		}
		program.Expect(t, "what "+file+" stores", fmt.Sprintf("%q", people), want)
	}
}

func TestTheSameFileTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	text := program.ReadFile(t, "../testdata/people.csv")
	p.Do(t, "POST", program.CSV+roster+"0", text).Expect(t, 200, deleting(100, 0, 0, 0))
	before := p.Do(t, "GET", "/api/users", "")
	p.Do(t, "POST", program.CSV+roster+"0", text).Expect(t, 200, deleting(0, 0, 100, 0))
	after := p.Do(t, "GET", "/api/users", "")
	after.Expect(t, 200, before.Body)
	program.ExpectHeader(t, after, "ETag", before.Header.Get("ETag"))
	program.Expect(t, "the id of the next user", p.Create(t, "Next", "next"), 101)
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "IMPORT_MAX_MIB=2")
	fits := "name,email\n" + strings.Repeat("n", 1<<20) + ",e\n"
	p.Do(t, "POST", program.CSV, fits).Expect(t, 200, "…")
	for path, file := range map[string]string{
		program.CSV: "name,email\n" + strings.Repeat("n,e\n", 3<<18), program.NDJSON: strings.Repeat("\n", 2<<20+1),
	} {
		answer := program.ImportRefused(t, p, path, file)
		answer.Expect(t, 413, `{"error":"The request body is larger than 2 MiB"}`)
		problem := program.ImportRefused(t, p, path, file, "Accept: application/problem+json")
		expectCodes(t, problem, answer, "body_too_large")
	}
	program.ImportRefused(t, p, "/api/users", fits).Expect(t, 413, "…") // which other bodies may not be
	program.ExpectNoSpool(t, p)
}

const roster = "?on_conflict=update&on_missing=delete&max_deletes="

// deleting is the answer to an import with on_missing=delete, which deletes these users.
func deleting(created, updated, skipped, deleted int, users ...string) string {
	return strings.Replace(program.Imported(created, updated, skipped, deleted), `"ignored`,
		`"deleted_users":[`+strings.Join(users, ",")+`],"ignored`, 1)
}

// Of 102 users the file has the last: 101 others are deleted, of which the first 100 are named.
func TestTheFirst100OfTheDeletedUsersAreNamed(t *testing.T) {
	t.Parallel()
	p, named := program.Serve(t), []string{}
	program.OpenOther(t, p.DatabasePath()).Fill(102)
	for id := range 100 {
		named = append(named, fmt.Sprintf(`{"id":%d,"email":"user%[1]d@example.org"}`, id+1))
	}
	const file = "name,email\nUser 102,user102@example.org\n"
	p.Do(t, "POST", program.CSV+roster+"100", file).Expect(t, 422, `{"error":"101 users are not in the file and would be deleted, and max_deletes is 100; `+
		`nothing was stored","rows":[],"deleted_users":[`+strings.Join(named, ",")+"]}")
	for _, parameters := range []string{"101&dry_run=true", "101"} {
		p.Do(t, "POST", program.CSV+roster+parameters, file).Expect(t, 200, deleting(0, 0, 1, 101, named...))
	}
	p.ExpectUsers(t, "User 102")
}

// Ada has the room 1, and Alan 2. What a row may have depends on the rows before it, however many are stored together.
func TestAnImportRefusesAValueThatMustBeUnique(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room")
	p.Run(t, "add-field", "--unique", "room").MustSucceed(t)
	p = p.Again(t, "USER_FIELDS=room")
	other := program.OpenOther(t, p.DatabasePath())
	const update, kept = "?on_conflict=update", "Ada 1, Alan 2"
	const by, byOther = `room is already used by `, `room is already used by another user`
	const exchange = `room is used by the user in line %d, who would get another: put that row first; ` +
		`if the two exchange theirs, empty one by an import before this one`
	row := func(line int, why string, values ...any) string {
		return fmt.Sprintf(`{"line":%d,"error":"`+why+`"}`, append([]any{line}, values...)...)
	}
	refused := func(of string, rows ...string) string {
		return "422 " + refusedRows(fmt.Sprint(len(rows)), of, strings.Join(rows, ","))
	}
	stored := func(created, updated, skipped int) string {
		return "200 " + program.Imported(created, updated, skipped, 0)
	}
	emptied := func(answer string) string {
		return strings.Replace(answer, `"ignored`, `"emptied":{"room":1},"ignored`, 1)
	}
	for _, test := range []struct{ name, parameters, file, want, users string }{
		{"a value of a user", "", "Ben,3\nCleo,1", refused("2 rows", row(3, byOther)), kept},
		{"a value of an earlier row", "", "Ben,3\nCleo,3\nDan,3",
			refused("3 rows", row(3, by+"the row in line 2"), row(4, by+"the row in line 2")), kept},
		{"rows that are left out", skipping, "Ben,3\nCleo,1\nDan,3\nEve,4", "200 " + skipped(2, 0, 0, 2,
			row(3, byOther)+","+row(4, by+"the row in line 2")), kept + ", Ben 3, Eve 4"},
		{"two who swap their values", update, "Ada,2\nAlan,1", refused("2 rows", row(2, exchange, 3), row(3, exchange, 2)), kept},
		{"a value that an earlier row gives up", update, "Ada,\nAlan,1\nBen,2", emptied(stored(1, 2, 0)), "Ada , Alan 1, Ben 2"},
		{"a value that a later row gives up", update, "Ben,1\nAda,", refused("2 rows", row(2, exchange, 3)), kept},
		{"a value that a later row gets", update, "Ben,3\nAda,3", refused("2 rows", row(3, by+"the row in line 2")), kept},
		{"a value of a user who is not in the file", roster + "1", "Ada,2",
			"200 " + deleting(0, 1, 0, 1, `{"id":2,"email":"alan"}`), "Ada 2"},
		{"a user who needs what a later row gives up twice", update, "Ada,5\nAda,\nBen,1\nAda,6",
			emptied(stored(1, 3, 0)), "Ada 6, Alan 2, Ben 1"},
		{"values that are kept", update + "&empty=keep", "Ada,\nAlan,3\nBen,", stored(1, 1, 1), "Ada 1, Alan 3, Ben "},
		{"a value that is kept, and so not free", update + "&empty=keep", "Ada,\nBen,1",
			refused("2 rows", row(3, byOther)), kept},
	} {
		t.Run(test.name, func(t *testing.T) {
			other.Empty()
			other.Do("INSERT INTO users (name, email, room) VALUES ('Ada', 'ada', '1'), ('Alan', 'alan', '2')")
			file := "name,room,email\n"
			for row := range strings.SplitSeq(test.file, "\n") {
				name, _, _ := strings.Cut(row, ",")
				file += row + "," + strings.ToLower(name) + "\n"
			}
			answer := p.Do(t, "POST", program.CSV+test.parameters, file)
			program.Expect(t, "the answer", fmt.Sprint(answer.Status, " ", answer.Body), test.want)
			var users []string
			for line := range strings.Lines(p.Do(t, "GET", program.CSV, "").Body) {
				cells := strings.Split(strings.TrimSpace(line), ",")
				users = append(users, cells[1]+" "+cells[4])
			}
			program.Expect(t, "what is stored", strings.Join(users[1:], ", "), test.users)
		})
	}
}

// A dry run may take minutes, and anyone who can read may ask for one.
func TestADryRunHoldsUpNoWrite(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(slowTable...)
	_, rows, _ := strings.Cut(program.ManyRows(60_000), "\n")
	dryRun := program.BeginImport(t, p, program.CSV+"?on_conflict=update&dry_run=true", "name,email\nX,ada\nNext,next\n"+rows)
	program.WaitFor(t, "it tries rows", func() bool { return isTrying(p, other) })
	p.Do(t, "PATCH", "/api/users/1", `{"name":"Ada King"}`).Expect(t, 200, "…")
	p.Create(t, "Next", "next")
	if !isTrying(p, other) {
		t.Error("it has ended: the writes have waited for it")
	}
	_ = dryRun.Close()
	program.Expect(t, "the log", p.Line(t, "stored="), "…stored=false…")
	p.ExpectUsers(t, "Ada King", "Next")
	program.ExpectNoSpool(t, p)
}
