package files

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

const (
	mia     = "Mia Weber,mia@example.org"
	jan     = "Jan Kos,jan@example.org"
	andMia  = kept + ", 3 Mia Weber mia@example.org"
	andBoth = andMia + ", 4 Jan Kos jan@example.org"

	miaJSON = `{"name":"Mia Weber","email":"mia@example.org"}`
	janJSON = `{"name":"Jan Kos","email":"jan@example.org"}`
)

// What is said of files and rows that are refused.
const (
	notUTF8 = `{"error":"The file is not text in UTF-8 (see line 2): save it as UTF-8, ` +
		`which Excel calls \"CSV UTF-8 (Comma delimited)\""}`
	isJSON = `{"error":"The file is JSON, and not CSV: send it to users.ndjson, ` +
		`with one object per line, as jq -c '.[]' makes them of an array"}`
	notLines = `{"error":"The file must have one JSON object per line: jq -c '.[]' FILE makes such lines of an array, ` +
		`and jq -c . FILE of objects on several lines. Send CSV to users.csv"}`
	spaceBeforeQuote = "A space stands before the quote at the start of a value: take it out"
	secondHeader     = "This row is a second header, as in files that were joined: take it out"
)

// strayQuote has a quote in a value, a blank line and a row without an email.
const strayQuote = "name,email\nMia \"Weber,mia@example.org\n\nJan Kos,\nEva Lind,eva@example.org\n"

var refusedForAQuote = refusedRows("2", "3 rows",
	`{"line":2,"error":"This value has a quote in it but none around it. Put quotes around the value, `+
		`and write the quote inside it as \"\""},{"line":4,"error":"Email is required"}`)

func ignoring(created int, columns string) string {
	return strings.Replace(program.Imported(created, 0, 0, 0), "[]", "["+columns+"]", 1)
}

// written are files as other programs write them, or people.
var written = []sent{
	{"rows that were emptied in Excel", program.CSV,
		"\ufeffname,email,department\r\n" + mia + ",IT\r\n" + jan + ",\r\n,,\r\n,,\r\n", 200,
		ignoring(2, `"department"`), "", andBoth},
	{"CR CR LF of Python on Windows", program.CSV,
		"name,email\r\r\n" + mia + "\r\r\nJan Kos,\"jan@example.org\"\r\r\n", 200,
		program.Imported(2, 0, 0, 0), "", andBoth},
	{"a stray quote and LF", program.CSV, strayQuote, 422,
		refusedForAQuote, "rows_refused file_invalid field_missing", kept},
	{"a space before quotes in the header", program.CSV, "\"name\", \"email\"\n\"Mia\", \"mia\"\n", 400,
		program.ErrorBody("The header cannot be read. " + spaceBeforeQuote), "file_invalid", kept},
	{"Ctrl-Z at the end", program.CSV, "name,email\r\n" + mia + "\r\n\x1a", 200,
		program.Imported(1, 0, 0, 0), "", andMia},
	{"Excel's plain CSV, in Windows-1252", program.CSV, "name,email\r\nJ\xf6rg,joerg\r\n" + mia + "\r\n", 400,
		notUTF8, "file_invalid", kept},
	{"UTF-16", program.CSV, "\xff\xfen\x00a\x00m\x00e\x00\r\x00\n\x00", 400,
		strings.Replace(notUTF8, "2", "1", 1), "file_invalid", kept},
	{"byte order marks of files that were exported twice", program.CSV, "\ufeff\ufeffname,email\r\n" + mia, 200,
		program.Imported(1, 0, 0, 0), "", andMia},
	{"files that copy has joined on Windows", program.CSV,
		"\ufeffname,email\r\n" + mia + "\r\n\ufeffname,email\r\n" + jan + "\r\n\x1a", 422,
		refusedRows("1", "3 rows", `{"line":3,"error":"`+secondHeader+`"}`), "rows_refused file_invalid", kept},
	{"NDJSON that was joined", program.NDJSON, "\ufeff" + miaJSON + "\r\n\ufeff" + janJSON + "\r\n", 200,
		program.Imported(2, 0, 0, 0), "", andBoth},
	{"Excel with semicolons", program.CSV, "Name;E-Mail;Adresse (Straße, Ort)\nMia Weber;mia@example.org;x\n", 200,
		ignoring(1, `"Adresse (Straße, Ort)"`), "", andMia},
	{"an array of JSON sent as CSV", program.CSV, "[" + miaJSON + "]", 400, isJSON, "file_invalid", kept},
	{"an array sent as NDJSON", program.NDJSON, "[" + miaJSON + "]", 400, notLines, "file_invalid", kept},
	{"an object over several lines", program.NDJSON, "{\n  \"name\": \"Mia\",\n  \"email\": \"mia\"\n}\n", 400,
		notLines, "file_invalid", kept},
	{"CSV sent as NDJSON", program.NDJSON, "name,email\n" + mia + "\n", 400, notLines, "file_invalid", kept},
	{"keys that are no fields", program.NDJSON,
		`{"name":"Mia Weber","email":"mia@example.org","Department":"IT","phon":"1"}` + "\n" +
			`{"id":7,"name":"Jan Kos","email":"jan@example.org","Department":"HR"}`, 200,
		ignoring(2, `"Department","phon","id"`), "", andBoth},
	{"apostrophes of an export for spreadsheets", program.CSV, "name,email\nMia,mia\n'=1,b\n'012,c\n", 200,
		warned(program.Imported(3, 0, 0, 0), 3), "", kept + ", 3 Mia mia, 4 '=1 b, 5 '012 c"},
}

// warned is an answer with a warning about a line.
func warned(answer string, line int) string {
	return strings.TrimSuffix(answer, "}") + fmt.Sprintf(`,"warnings":["Line %d has an apostrophe as an export `+
		`with spreadsheet=true adds it: import the file with spreadsheet=true to remove it"]}`, line)
}

// What a spreadsheet opens and saves is what it was: LibreOffice writes what it has taken for a number in a form of its
// own, and everything else in quotes, an apostrophe too.
func TestASpreadsheetSavesTheValuesThatItHasOpened(t *testing.T) {
	t.Parallel()
	const saved = `"id","name","email","created_at","desk","room"` + "\n" +
		`1,"Mia","mia@example.org",2026-11-26 11:21:32,"'0301234567","'012"` + "\n" +
		`2,"Jan","jan@example.org",2026-11-26 11:21:32,"'+49301234","'3E4"` + "\n" +
		`3,"'007","'3d@example.org",2026-11-26 11:21:32,49301234567,"'true"` + "\n"
	p := program.Serve(t, "USER_FIELDS=desk,room")
	p.Do(t, "POST", program.CSV, "name,email,desk,room\nMia,mia@example.org,0301234567,012\n"+
		"Jan,jan@example.org,+49301234,3E4\n007,3d@example.org,49301234567,true\n").Expect(t, 200, "…")
	p.Do(t, "GET", program.CSV+"?spreadsheet=true", "").Expect(t, 200, "\ufeffid,name,email,created_at,desk,room\r\n"+
		"1,Mia,mia@example.org,20…,'0301234567,'012\r\n2,Jan,jan@example.org,20…,'+49301234,'3E4\r\n"+
		"3,'007,'3d@example.org,20…,49301234567,'true\r\n")
	p.Do(t, "POST", program.CSV+"?spreadsheet=true&on_conflict=update", saved).Expect(t, 200,
		`{"created":0,"updated":0,"skipped":3,"deleted":0,"ignored_columns":["id","created_at"]}`)
	p.Do(t, "POST", program.CSV+"?on_conflict=update&dry_run=true", saved).Expect(t, 200,
		warned(`{"created":1,"updated":2,"skipped":0,"deleted":0,"ignored_columns":["id","created_at"]}`, 2))
}

// TestAQuoteThatIsNeverClosedSwallowsNobody sends files in which one quote is missing: the rows behind it would be in its row.
func TestAQuoteThatIsNeverClosedSwallowsNobody(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	rows := strings.Repeat("P,p@x\n", 100)
	const closed = `This quoted value is not closed correctly: the separator or the end of the line must follow its last quote, ` +
		`and a quote inside it is written \"\"`
	for _, test := range []struct{ file, lines, why string }{
		{"name,email\nA,a@x\n\"B,b@x\n" + rows, "3 to 103", closed},                 // to the end
		{"name,email\n\"B,b@x\n" + rows + "\"C\",c@x\n" + rows, "2 to 103", closed}, // to a later value
		{"name,email\n\"B,b@x\n" + rows + "\"\n" + rows, "2 to 103", "The row has 1 value, and the header 2 columns"},
		{"name,email\nB,\"b@x\n" + rows + "C,\",c@x\n", "2 to 103", "The row has 3 values, and the header 2 columns"},
	} {
		first, _, _ := strings.Cut(test.lines, " ")
		want := fmt.Sprintf(`{"error":"The row in lines %s cannot be read: nobody knows how many rows are in it; nothing was stored",`+
			`"rows":[{"line":%s,"error":"%s"}]}`, test.lines, first, test.why)
		for _, parameters := range []string{"", skipping, skipping + "&dry_run=true"} {
			p.Do(t, "POST", program.CSV+parameters, test.file).Expect(t, 422, want)
		}
	}
	p.Do(t, "POST", program.CSV+skipping, "name,email\n\"A\nB\",a@x\nC,\"c@x\"d\nD,d@x\n").Expect(t, 200, skipped(2, 0, 0, 1,
		`{"line":4,"error":"`+closed+`"}`)) // one line has nobody else in it
	p.ExpectUsers(t, "A\nB", "D")
}
