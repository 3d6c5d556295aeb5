package controllers

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"users-api/database"
	"users-api/models"
)

// fields is the table of fields that the tests use.
var fields = models.NewFields()[:2]

// sameValues reports whether two users have the same values, wherever they are kept.
func sameValues(a, b models.Profile) bool {
	return fields.Differing(&models.Values{Given: fields.All(), Profile: a}, &b) == 0
}

// required is the sentence that follows from the table.
const required = "Name and email are required"

// readFile returns what a file says: "LINE NAME|EMAIL" or "LINE: WHY" of each row, joined by "; ", or why it is refused
// as a whole.
func readFile(open openFile, file io.Reader) string {
	next, err := open(file, fields, false, &notes{})
	if err != nil {
		return "refused: " + err.Error()
	}
	var rows []string
	for row, err := range allRows(next, fields, false, &notes{}) {
		switch {
		case err != nil:
			rows = append(rows, "refused: "+err.Error())
		case row.Err != nil:
			rows = append(rows, fmt.Sprintf("%d: %s", row.Line, row.Err))
		default:
			rows = append(rows, fmt.Sprintf("%d %s|%s", row.Line, row.Name, row.Email))
		}
	}
	return strings.Join(rows, "; ")
}

func notUTF8(line int) string { return "refused: " + errNotUTF8(line).Error() }

func TestACSVFileIsReadAsProgramsWriteIt(t *testing.T) {
	const tooLong = "refused: The row in line 2 is longer than 4 MiB: in CSV, a quote that ends a value may be missing"
	long, columns := strings.Repeat("n", largestRow-len(",a")), "x"+strings.Repeat(",", maxColumns-1)
	const openQuote = `This quoted value is not closed correctly: the separator or the end of the line must follow ` +
		`its last quote, and a quote inside it is written ""`
	const refused = "refused: The first line of the file must name the columns: "
	const joined = ". First and last names belong together in one column with this title"
	const loneCR = "A CR stands within a value that has no quotes around it: " +
		"lines must end with LF or CRLF, and a value with a line break needs quotes"
	const second = "This row is a second header, as in files that were joined: take it out"
	for _, test := range []struct{ name, text, want string }{
		{"tabs", "name\temail\nAda;1\ta@x\n", "2 Ada;1|a@x"},
		{"UTF-16 without a mark", "n\x00a\x00m\x00e\x00", notUTF8(1)},
		{"lone CR", "name,email\rA,a\rB,b\r", "refused: " + errOneLine.Message},
		{"line breaks in quotes", "name,email\n\"A\nB\",a\n\"C\r\nD\",b\n\"E\rF\",c\n",
			"2 A\nB|a; 4 C\r\nD|b; 6 E\rF|c"},
		{"blank lines", "\n\r\nname,email\n\nA,a\n  \nB,b\n\n\n", "5 A|a; 7 B|b"},
		{"another CR", "name,email\nA\rB,a\nC,c\r\r\r\n\"D\"\r,d\nE,e\n",
			"2: " + loneCR + "; 3: " + loneCR + "; 4: " + openQuote + "; 5 E|e"},

		{"what curl -d sends", "name,emailAda,a@x", "refused: " + errOneLine.Message},
		{"no header", "Ada,a@x\nAlan,b@x\n", refused + `it has "Ada", "a@x"; "name" and "email" are missing` + joined},
		{"other separators within titles", "a,b,c\tname\te-mail\td;e;f;g;h;i;j\n1\tA\ta\t2\n", "2 A|a"},
		{"other titles", "Vorname;Fax;Mail (privat, neu)\nA;1;a\n",
			refused + `it has "Vorname", "Fax", "Mail (privat, neu)"; "name" and "email" are missing` + joined},
		{"email twice", "name,E-mail,Email\nA,a,b\n", "refused: The header has the column \"email\" twice"},
		{"what cannot be seen in titles", "\u200b\ufeffna\u00adme\u00a0,\x1a\u2060 email\u200e\nA,\u200ba\n", "2 A|\u200ba"},
		{"a second header", "name,id,email\nA,1,a\n\ufeffName,x,E-Mail \nemail,,name\nname,2,b\nB,3,email\n",
			"2 A|a; 3: " + second + "; 4: " + second + "; 5 name|b; 6 B|email"},
		{"a long header", strings.Repeat("name,", largestHeader) + "\n", "refused: " + errOneLine.Message},
		{"a vCard", "\ufeff\r\nBEGIN:VCARD\r\nVERSION:3.0\r\n", "refused: The file is a vCard: export the address book as CSV instead"},
		{"LDIF", "dn: uid=ada\nmail: a\n", "refused: " + errLDIF.Message},
		{"LDIF of ldapsearch", "# extended LDIF\n#\n", "refused: " + errLDIF.Message},
		{"a workbook", "PK\x03\x04\x14", "refused: The file is a workbook or a zip file, and not text: save it as CSV"},

		{"rows that are refused, and those between", "name,email\n,a\nA,\nB,b\nC,c,3\nD\n",
			"2: Name is required; 3: Email is required; 4 B|b; 5: The row has 3 values, and the header 2 columns; " +
				"6: The row has 1 value, and the header 2 columns"},

		{"many blank lines, which are no long row", "name,email\n" + strings.Repeat("\r\n", largestRow) + "A,a\n",
			fmt.Sprintf("%d A|a", largestRow+2)},
		{"4 MiB", "name,email\n" + long + ",a\nB,b\n", "2 " + long + "|a; 3 B|b"},
		{"4 MiB and a byte", "name,email\n" + long + "n,a\nB,b\n", tooLong},
		{"4 MiB of quoted line breaks", "name,email\n\"" + strings.Repeat("\r", largestRow) + "\",a\nB,b\n", tooLong},
		{"one more", "name,email\n" + columns + ",\nB,b\n", "refused: The row in line 2 has more than 16384 values"},
		{"as many values as may be, and more than 4 MiB", "name,email\n" + columns + long + "\nB,b\n", tooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readFile(openCSV, strings.NewReader(test.text)); got != test.want {
				t.Errorf("got  %.500q\nwant %.500q", got, test.want)
			}
		})
	}
}

func TestNDJSONIsReadLineByLine(t *testing.T) {
	const ada = `{"name":"A","email":"a"}`
	long := strings.Repeat(" ", largestRow)
	for _, test := range []struct{ name, text, want string }{
		{"CRLF and blank lines", "\r\n" + ada + "\r\n \t\r\n" + ada + "\r\n", "2 A|a; 4 A|a"},
		{"rows that are refused", "{}\n{\n[]\n{\"name\":1,\"email\":\"a\"}\n" + ada,
			"1: " + required + "; 2: The line is not valid JSON: see byte 1; " +
				"3: The line must be a JSON object, not an array; 4: The field name must be a string, not a number; 5 A|a"},
		{"a first line that is cut off", `"A","email":"a"}` + "\n" + ada, "1: The line is not valid JSON: see byte 4; 2 A|a"},
		{"a vCard", "BEGIN:VCARD\n", "refused: The file is a vCard: export the address book as CSV instead"},
		{"keys that are not quite fields", `{"NAME":"A","E-Mail":"a"}` + "\n" + `{"name":"A","Email":"a","email":"b"}`,
			"1: " + required + `: "NAME" is not "name" and "E-Mail" is not "email"; 2 A|b`},
		{"UTF-16 without a mark", "{\x00}\x00\n\x00", notUTF8(1)},
		{"CR CR LF and Ctrl-Z", ada + "\r\r\n" + ada + "\x1a", "1 A|a; 2 A|a"},
		{"what curl -d sends", ada + ada, "refused: " + errOneLine.Message},
		{"4 MiB", ada + long[len(ada):] + "\n", "1 A|a"},
		{"4 MiB and a byte", ada + long[len(ada)-1:] + "\n", "refused: " + errOneLine.Message},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readFile(openNDJSON, strings.NewReader(test.text)); got != test.want {
				t.Errorf("got  %.500q\nwant %.500q", got, test.want)
			}
		})
	}
}

// FuzzRows compares where rows begin and end, and what is in them, with what encoding/csv makes of the whole text.
func FuzzRows(f *testing.F) {
	for _, text := range []string{"a,b\nc", "\"a\nb\"\"\",c\n\n\"\"\n", "a\"b,\"c\nd\ne\"", "\"a\"b,\"c\nd\n", "a,\"b\nc",
		"\"a\nb\"c,\"d\ne\n", ",\"\"\"\",\"a\"\n\"b\"", " \"a\nb\"", "\"\"\"\nb\",\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimRight(strings.NewReplacer("\r", "", byteOrderMark, "").Replace(text), "\x1a")
		if !utf8.ValidString(text) {
			return
		}
		whole := csv.NewReader(strings.NewReader(text))
		whole.FieldsPerRecord = -1
		want := allRecords(func() (int, []string, error) {
			values, err := whole.Read()
			if refused, ok := errors.AsType[*csv.ParseError](err); ok {
				return refused.StartLine, nil, nil
			}
			if err != nil {
				return 0, nil, err
			}
			line, _ := whole.FieldPos(0)
			return line, values, nil
		})
		file := &csvFile{text: bufio.NewReader(nil)}
		file.rows, file.in = newTextRows(strings.NewReader(text), file.split), csv.NewReader(file.text)
		file.in.FieldsPerRecord = -1
		got := allRecords(func() (int, []string, error) {
			values, err := file.read()
			if _, isRow := errors.AsType[*database.RefusedRows](err); isRow {
				err = nil
			}
			return file.row.Line, values, err
		})
		if got != want {
			t.Errorf("%q has the rows\n%s, want\n%s", text, got, want)
		}
	})
}

// allRecords returns each record that is not blank with its line, or the line alone of one that cannot be read.
func allRecords(next func() (line int, values []string, err error)) string {
	var all strings.Builder
	for {
		line, values, err := next()
		if err != nil {
			return all.String()
		}
		if values == nil || strings.TrimSpace(strings.Join(values, "")) != "" {
			fmt.Fprintf(&all, "%d %q\n", line, values)
		}
	}
}

// FuzzRoundTrip sends any name and email out and back: as they are, and for a spreadsheet.
func FuzzRoundTrip(f *testing.F) {
	for _, name := range []string{"Ada", "A\r\nB", "\r", "\n", `"`, "a,b;c\td", " x ", "=1+2", "'=1", "''@", "'x",
		"'", "-", "\ufeffA", "\x00", "\\.", "\u2028", "+\ufffd", "é😀", "x;=1", "x;'=1", "x;\"=1;", "x\n=1", "x\t-1",
		"x;\t=1", "x|'\"'@", "x;y", "C++ -", "x\";=1", "012", "'012", "''1.5", "tRue", "012;=1", "\"012"} {
		f.Add(name, name+"@example.org")
	}
	f.Fuzz(func(t *testing.T, name, email string) {
		if name == "" || email == "" || !utf8.ValidString(name) || !utf8.ValidString(email) {
			return // no user has these
		}
		user := models.User{ID: 7, Profile: models.Profile{Name: name, Email: email}, CreatedAt: "2026-11-21 18:00:00"}
		expectTwice := func(open openFile, text string, spreadsheet bool) {
			t.Helper()
			next, err := open(strings.NewReader(text), fields, spreadsheet, &notes{})
			if err != nil {
				t.Fatal(err)
			}
			var got []models.Profile
			for row, err := range allRows(next, fields, false, &notes{}) {
				if err != nil {
					t.Fatalf("%q, %q: %v", name, email, err)
				}
				got = append(got, row.Profile)
			}
			if !slices.EqualFunc(got, []models.Profile{user.Profile, user.Profile}, sameValues) {
				t.Errorf("%q, %q do not come back twice, but as %+v", name, email, got)
			}
		}
		for _, spreadsheet := range []bool{false, true} {
			header, _, row := renderCSV(fields, spreadsheet)
			expectTwice(openCSV, header+string(row(&user))+string(row(&user)), spreadsheet)
		}
		text := strings.Repeat(string(fields.AppendUser(nil, &user))+"\n", 2)
		expectTwice(openNDJSON, text, false)
	})
}

func TestASpreadsheetSeesNoFormula(t *testing.T) {
	for value, want := range map[string]string{
		"=1+2": "'=1+2", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "'x": "'x", "'=1": "''=1", "": "",
		"x;'=1": "x;''=1", "x|+1": "x|'+1", "x\"=1": "x\"=1", "x; =1": "x; =1", "x=1;y-2": "x=1;y-2", "012;=1": "'012;'=1",
		"012": "'012", "'012": "''012", "\"012": "\"012", "x;012": "x;012", "3E4": "'3E4", "1.5": "'1.5", ".5": "'.5", ".": ".", "0": "0", "7": "7",
		"x7": "x7", "123456789012345": "123456789012345", "1234567890123456": "'1234567890123456", "true": "'true", "False": "'False",
	} {
		if got := toSpreadsheet(value); got != want || fromSpreadsheet(got) != value {
			t.Errorf("%q is sent as %q, want %q, and comes back as %q", value, got, want, fromSpreadsheet(got))
		}
	}
}
