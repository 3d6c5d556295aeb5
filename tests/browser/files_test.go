//go:build browser

package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"users-api/tests/program"
)

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	program.WriteFile(t, path, text)
	return path
}

// opensImport opens the import's dialog. Where there are no users, a second button does the same.
func (p *person) opensImport() {
	p.Helper()
	p.clicks("button", "Menu")
	evaluate[bool](p, `document.querySelector('#menu [data-open=import]').click() ?? true`)
	p.sees("dialog", "Import users")
}

func (p *person) imports(name, text string) *person {
	p.Helper()
	p.opensImport()
	return p.picks(name, text)
}

// picks chooses a file in the import's dialog.
func (p *person) picks(name, text string) *person {
	p.Helper()
	return p.picksPath(file(p.T, name, text))
}

func (p *person) picksPath(path string) *person {
	p.Helper()
	document := call(p, dom.GetDocument, dom.GetDocumentParams{})
	field := call(p, dom.QuerySelector, dom.QuerySelectorParams{NodeID: document.Root.NodeID, Selector: "input[type=file]"})
	call(p, dom.SetFileInputFiles, dom.SetFileInputFilesParams{NodeID: field.NodeID, Files: []string{path}})
	return p
}

const storedNothing = "Nothing was stored. Correct these lines and choose the file again."

func TestAnImportShowsWhatItWouldDoBeforeItDoesIt(t *testing.T) {
	ada, p := visitWith(t, "Ada")
	ada.opensImport()
	ada.picks("people.csv",
		"name,email,phone\nBen,ben@example.org,1\nAugusta,ada@example.org,2\nCleo,cleo@example.org,3\n")
	ada.reads("people.csv", "One is here already. Skip or update?", "2 users would be added", "1 user would stay as before")
	program.Forbid(t, ada.page(), "would be changed")
	ada.sees("radio", "Skip")
	ada.sees("button", "Import 2 users")
	p.ExpectUsers(t, "Ada")
	ada.clicks("radio", "Update from the file").reads("1 user would be changed")
	program.Forbid(t, ada.page(), "would stay")
	ada.clicks("button", "Import 3 users").reads("people.csv is imported", "2 users added", "1 user changed")
	ada.lists("Cleo", "Ben", "Augusta")
	ada.check()
	ada.reads("2 users added") // for as long as it is open
	ada.isAt("button", "Close")
	ada.types(kb.Enter).isAt("button", "Menu")
	ada.imports("people.csv", "name,email\nBen,ben@example.org\nCleo,cleo@example.org\n") // a second time
	ada.reads("All 2 are here already. Skip or update them?", "2 users would stay as before")
	program.Forbid(t, ada.page(), "cannot be imported", "would be")
	ada.seesNo("button", "Import 0 users")
	ada.picks("one.csv", "name,email\nBen,ben@example.org\n").reads("One is here already. Skip or update?")
	ada.picks("new.csv", "name,email\nDan,dan@example.org\n").sees("button", "Import 1 user")
	program.Forbid(t, ada.page(), "here already", "Skip")
	ada.picks("family.csv", "name,email\n\"Dan\nD\",dan@example.org\nEve,dan@example.org\n").reads("1 user would be added",
		"Line 4 has the email of line 2, and would be stored instead", "An email is in the file twice. Skip or update?")
	program.Forbid(t, ada.page(), "here already", "would be changed")
	ada.clicks("radio", "Skip").reads("1 user would be added", "Line 4 has the email of line 2, and would be left out")
	program.Forbid(t, ada.page(), "stay as before")
	ada.picks("nobody.csv", "name,email\n").reads("There is nobody in this file")
}

// The headers are those of Google Contacts, of Outlook, and of what clubs in several countries write.
func TestAFileWithOtherColumnsIsUnderstood(t *testing.T) {
	for name, c := range map[string]struct{ text, users string }{
		"German, with a semicolon": {"Nachname;Vorname;E-Mail-Adresse;Telefon\r\nLovelace;Ada;a@x.org;0815\r\n",
			"Ada Lovelace a@x.org 0815"},
		"a name alone in German": {"E-Mail;Name\r\na@x.org;Ada\r\n", "Ada a@x.org –"},
		"Name beside Vorname":    {"Name;Vorname;Mail\nLovelace;Ada;a@x.org\n", "Ada Lovelace a@x.org –"},
		"French":                 {"Prénom\tNom\tCourriel\tTéléphone\nAda\tLovelace\ta@x.org\t1\n", "Ada Lovelace a@x.org 1"},
		"Spanish":                {"Nombre,Apellidos,Correo electrónico\nAda,King Noel,a@x.org\n", "Ada King Noel a@x.org –"},
		"Russian":                {"Фамилия,Имя,Почта\nКинг,Ада,a@x.org\n", "Ада Кинг a@x.org –"},
		"Google Contacts": {"First Name,Middle Name,Last Name,Labels,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Value\n" +
			"Ada,King,Lovelace,* myContacts,* Home,a@x.org,+44 1815\n", "Ada Lovelace a@x.org +44 1815"},
		"Google Contacts, before": {"Name,Given Name,Family Name,E-mail 1 - Value\nAda K. Lovelace,Ada,Lovelace,a@x.org\n",
			"Ada K. Lovelace a@x.org –"},
		"Outlook": {"\ufeffFirst Name,Middle Name,Last Name,Title,E-mail Address,Home Phone,Mobile Phone\r\n" +
			"Ada,,Lovelace,Countess,a@x.org,,7\r\n", "Ada Lovelace a@x.org 7"},
		"an email that no title names": {"Vorname,Kontakt\nAda,a@x.org\n", "Ada a@x.org –"},
		"line breaks and quotes": {"\n\"Vor\nname\",x,Vorname,Nachname,Email\n,,\"Ada\n \"\"A\"\"\",\"Love\nlace\",a@x.org\n",
			`Ada "A" Love lace a@x.org –`},
		"a service's title left over": {"Full name,Email,Phone,phone number\nAda,a@x.org,1,2\n", "Ada a@x.org 1"},
	} {
		t.Run(name, func(t *testing.T) {
			ada, p := withFields(t, "phone")
			ada.imports("people.csv", c.text).clicks("button", "Import 1 user").reads("1 user added")
			var users []struct{ Name, Email, Phone string }
			program.Must(t, json.Unmarshal([]byte(p.Do(t, http.MethodGet, "/api/users", "").Body), &users))
			program.Expect(t, "who was imported", users[0].Name+" "+users[0].Email+" "+cmp.Or(users[0].Phone, "–"), c.users)
		})
	}
}

func TestWhatAColumnIsCanBeChosenAndIsRemembered(t *testing.T) {
	ada, p := withFields(t, "phone,room")
	const text = "Wer;Genau;Wo;E-Post;x\nAda;Lovelace;7;a@x.org;\n;;8;b@x.org;\n\"Ben\nB\";;9;c@x.org;\n\"Cleo\";;10;;\n"
	ada.imports("people.csv", text).reads("What is in each column?", "Choose which column is the name")
	ada.sees("cell", "Lovelace")
	ada.expect("whether an empty column is shown", len(ada.find("columnheader", "x")), 0)
	ada.check()
	ada.chooses("Wer is", "first-name").reads("2 of 4 rows cannot be imported")
	ada.chooses("Genau is", "last-name").chooses("Wo is", "room").sees("button", "Import the other 2")
	for _, line := range []string{"3", "6"} { // of the file that was chosen
		ada.sees("cell", line)
	}
	ada.clicks("button", "Import the other 2").reads("2 users added", "2 users left out")
	ada.stores(p, 1, `"phone":null,"room":"7"`)
	p.ExpectUsers(t, "Ada Lovelace", "Ben B")
	ada.reloads().imports("next.csv", "Wer;Genau;Wo;E-Post;x\nDan;D;7;e@x.org;\n").sees("button", "Import 1 user")
	ada.chooses("Genau is", "name").sees("button", "Import 1 user")
	ada.clicks("button", "Import 1 user").reads("1 user added")
	p.ExpectUsers(t, "Ada Lovelace", "Ben B", "D")
}

func TestCellsOfASpreadsheetArePasted(t *testing.T) {
	ada, _ := visitWith(t, "Ada")
	pastes := func(selector, text string) {
		evaluate[bool](ada, fmt.Sprintf(`((data) => {
			data.setData('text/plain', %q);
			return document.querySelector('%s').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
		})(new DataTransfer())`, text, selector))
	}
	pastes("#q", "name\temail\nBen\tben@example.org") // belongs there
	pastes("body", "Ben")                             // is no table
	ada.seesNo("dialog", "Import users")
	pastes("body", "email\tname\nben@example.org\tBen")
	ada.sees("dialog", "Import users")
	ada.reads("Copied cells", "1 user would be added")
	pastes("#import", "cleo@example.org\tCleo\ndan@example.org\tDan") // without titles
	ada.chooses("Column 2 is", "name").clicks("button", "Import 2 users").lists("Dan", "Cleo", "Ada")
}

func TestAnUpdateShowsWhatItWouldChangeAndEmpty(t *testing.T) {
	ada, p := withFields(t, "phone,active:boolean", body("Ada", `,"phone":"0815","active":true`), body("Cleo", `,"phone":"3"`))
	ada.imports("people.csv",
		"email;name;Aktiv;Telefon\nben@example.org;Ben;;\nada@example.org;Ada King;WAHR;\ncleo@example.org;Cleo;;3\n")
	ada.chooses("Aktiv is", "active").reads("here already")
	ada.clicks("radio", "Update from the file").reads("1 user would be changed", "Phone would be emptied for 1 user")
	ada.sees("region", "First changes")
	ada.expect("the changes", evaluate[string](ada, `document.querySelector('#differences tbody').innerText`),
		"Ada\tName\tAda\tAda King\nAda\tPhone\t0815\t–")
	ada.check()
	ada.clicks("checkbox", "Keep what is stored where the file is empty").seesNo("cell", "0815")
	ada.until("what still changes", func() bool {
		return evaluate[string](ada, `document.querySelector('#differences tbody').innerText`) == "Ada\tName\tAda\tAda King"
	})
	program.Forbid(t, ada.page(), "would be emptied")
	ada.clicks("button", "Import 2 users").reads("1 user added", "1 user changed", "1 user left as before")
	ada.stores(p, 1, `"phone":"0815","active":true`)
}

func TestTheGoodRowsOfAFileAreImported(t *testing.T) {
	ada, p := visitWith(t, "Ada")
	ada.opensImport()
	ada.picks("people.csv", "name,email\nBen,ben@example.org\nAugusta,ada@example.org\n,cleo@example.org\nDan,dan@example.org\n")
	ada.reads("1 of 4 rows cannot be imported", strings.TrimSuffix(storedNothing, ".")+", or import the others.", "2 users would be added")
	ada.sees("cell", "4")
	program.Forbid(t, ada.page(), "nothing was stored")
	ada.check()
	p.Create(t, "Ben", "ben@example.org") // meanwhile
	ada.clicks("button", "Import the other 2").reads("1 user added", "2 users left as before", "1 user left out")
	ada.sees("cell", "Name is required") // and why
	p.ExpectUsers(t, "Ada", "Ben", "Dan")
	ada.clicks("button", "Close")
	corrected := file(t, "people.csv", "name,email\n,cleo@example.org\n")
	ada.opensImport()
	ada.picksPath(corrected).reads("1 of 1 row cannot be imported", storedNothing)
	ada.seesNo("button", "Import the other 0")
	program.WriteFile(t, corrected, "name,email\nCleo,cleo@example.org\n")
	ada.picksPath(corrected).sees("button", "Import 1 user")
}

func TestAFileIsDroppedOnTheDialog(t *testing.T) {
	ada, _ := visitWith(t, "Ada")
	ada.opensImport()
	place := evaluate[[]float64](ada, `(({ x, y }) => [x + 20, y + 20])(document.querySelector('.file').getBoundingClientRect())`)
	path := file(t, "people.csv", "name;email\nBen;ben@example.org\n")
	for _, kind := range []input.DispatchDragEventType{
		input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop,
	} {
		call(ada, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: place[0], Y: place[1], Data: &input.DragData{
			Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1,
		}})
	}
	ada.clicks("button", "Import 1 user").lists("Ben", "Ada")
}

// Excel writes the encoding of its Windows, unless it is asked for UTF-8, and Windows PowerShell UTF-16.
func TestAFileThatIsNotUTF8IsReadAndSaysWhoIsInIt(t *testing.T) {
	wide := func(text string, first int) string { // with the lower byte first, or the higher
		var bytes []byte
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			bytes = append(bytes, byte(unit>>first), byte(unit>>(8-first)))
		}
		return string(bytes)
	}
	for name, c := range map[string]struct{ file, text, encoding, users, names string }{
		"Windows-1252": {"people.csv",
			"Email;Name\r\na@x.org;Ada\r\nj@x.org;J\xf6rg \x8aimek\r\nm@x.org;\"Mu\xdf, \"\"Z\"\"\"\r\n",
			"Windows-1252", "3 users", `Jörg Šimek, Muß, "Z"`},
		"UTF-16":                    {"people.txt", wide("name\temail\nИван\ti@x.org\nAda\ta@x.org\n", 0), "UTF-16", "2 users", "Иван"},
		"UTF-16 in the other order": {"people.csv", wide("name,email\nAda,a@x.org\nBen,b@x.org\n", 8), "UTF-16", "2 users", "Ada, Ben"},
		"NDJSON":                    {"people.ndjson", wide(`{"email":"j@x.org","name":"José"}`+"\r\n", 0), "UTF-16", "1 user", "José"},
	} {
		t.Run(name, func(t *testing.T) {
			ada, p := visitWith(t)
			ada.imports(c.file, c.text).reads("The file was read as "+c.encoding, "Are these names right? "+c.names)
			ada.check()
			p.ExpectUsers(t)
			ada.clicks("button", "Import "+c.users).reads(c.users + " added")
			ada.clicks("button", "Close")
			first, _, _ := strings.Cut(c.names, ",")
			ada.sees("button", "Change "+first)
		})
	}
	ada, _ := visitWith(t)
	ada.imports("people.csv", "name,email\nZo\xeb,\n").reads("Are these names right? Zoë")
	ada.picks("people.csv", "name,email\nZoë,z@x.org\n").sees("button", "Import 1 user")
	program.Forbid(t, ada.page(), "was read as")
}

func TestAnImportCanBeLeftAlsoWhileTheFileIsSent(t *testing.T) {
	ada, p := visitWith(t)
	ada.imports("people.ndjson", `{"name":"Ben","email":"ben@example.org"}`+"\n").sees("button", "Import 1 user")
	ada.clicks("button", "Cancel").seesNo("dialog", "Import users")
	var text strings.Builder
	text.WriteString("name,email\n")
	for text.Len() < 8<<20 {
		text.WriteString("Somebody with a long name,")
		text.WriteString(strings.Repeat("x", text.Len()%97))
		text.WriteString("@example.org\n")
	}
	ada.throttle(false, 1<<20)
	ada.imports("many.csv", text.String())
	bar := ada.sees("progressbar", "Sending the file")
	ada.until("progress", func() bool { return on[float64](ada, bar, `function() { return this.value; }`) > 1 })
	ada.clicks("button", "Cancel").seesNo("dialog", "Import users")
	ada.throttle(false, -1)
	p.ExpectUsers(t)
}

func TestAnExportIsOfWhatIsSearchedForOrOfAll(t *testing.T) {
	ada, _ := visitWith(t, "Ada", "Ben")
	ada.open("/?q=ada").lists("Ada")
	ada.reads("1 of 2 users match") // the dialog says how many all are
	ada.fromMenu("Export").sees("dialog", "Export users")
	got := ada.downloads(exactly)
	ada.expect("the file of the search", got, "id,name,email,created_at\r\n1,Ada,ada@example.org,…\r\n")
	ada.expect("the lines of the file of the search", strings.Count(got, "\n"), 2)
	ada.clicks("radio", "All 2")
	ada.expect("the lines of the file of all", strings.Count(ada.downloads(forPrograms), "\n"), 2)
	ada.expect("the file for spreadsheets", ada.downloads(forSpreadsheets), "\ufeffid,…")
}

// The links of the dialog of an export.
const (
	exactly         = "CSV Exactly what is stored; it can be imported again"
	forSpreadsheets = "CSV for spreadsheets For Excel, Numbers, LibreOffice. Phone numbers get an apostrophe so that no zero is lost"
	forPrograms     = "For programs (NDJSON) One JSON object a line"
)

// downloads clicks a link and returns the file that comes.
func (p *person) downloads(link string) string {
	p.Helper()
	directory := p.TempDir()
	context := chromedp.FromContext(p.ctx).BrowserContextID
	_, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: "allow", BrowserContextID: context, DownloadPath: directory,
	})
	p.must(err)
	p.clicks("link", link)
	var text []byte
	p.until("a file", func() bool {
		files, _ := filepath.Glob(directory + "/users*[nv]") // .ndjson or .csv, and no .crdownload
		if len(files) == 1 {
			text, err = os.ReadFile(files[0])
		}
		return len(files) == 1 && err == nil && len(text) > 0
	})
	return string(text)
}

// A file that was exported for spreadsheets, and is imported as any other, would keep the marks of its values.
func TestAnImportShowsWhatTheServiceWarnsOf(t *testing.T) {
	ada, p := visitWith(t)
	const text = "name,email\n'=Ada,ada@example.org\n"
	var answer struct{ Warnings []string }
	program.Must(t, json.Unmarshal([]byte(p.Do(t, http.MethodPost, program.CSV+"?dry_run=true", text).Body), &answer))
	if len(answer.Warnings) == 0 {
		t.Fatal("the service warns of nothing")
	}
	ada.imports("people.csv", text).reads("tick “The file was exported here” to remove it")
	ada.sees("button", "Import 1 user")
	ada.clicks("checkbox", "The file was exported here as “CSV for spreadsheets”")
	ada.until("no warning", func() bool { return !strings.Contains(ada.page(), "to remove it") })
	ada.clicks("button", "Import 1 user").lists("=Ada")
}
