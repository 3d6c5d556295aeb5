package load

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestHostileFilesAreRefusedInBoundedMemory(t *testing.T) {
	t.Parallel()
	size := 8 << 20
	if *program.Long > 0 {
		size = 256 << 20 // more than the bound below
	}
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	for _, test := range []struct {
		name, path, begin, again string
		status                   int
		says                     string
	}{
		{"a quote that never ends", program.CSV, "name,email\n\"", "a,\n", 400, "a quote that ends a value may be"},
		{"one line", program.CSV, "", "name,email", 400, "The file is one line"},
		{"one line behind the header", program.CSV, "name,email\n", "x", 400, "The row in line 2 is longer than 4 MiB"},
		{"columns without end", program.CSV, "name,email\n", ",", 400, "The row in line 2 has more than 16384 values"},
		{"NUL bytes", program.CSV, "", "\x00", 400, "The file is not text in UTF-8"},
		{"a long header", program.CSV, strings.Repeat("name,email,", 100_000) + "\n", "a,", 400, "The file is one line"},
		{"gzip", program.CSV, "\x1f\x8b\x08", "\x00", 400, "The file is compressed"},
		{"rows that are all refused", program.CSV, "name,email\n", "," + strings.Repeat("x", 1000) + "\n", 422,
			"rows cannot be imported; nothing was stored"},
		{"one line of NDJSON", program.NDJSON, "", "{", 400, "The file is one line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := p.Dial(t)
			request.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", test.path, size)
			go func() {
				block := strings.Repeat(test.again, 1<<16)
				n, err := io.WriteString(request, test.begin)
				for sent := n; err == nil && sent < size; sent += n {
					n, err = io.WriteString(request, block[:min(len(block), size-sent)])
				}
			}()
			request.Answer().Expect(t, test.status, "…"+test.says+"…")
		})
	}
	p.ExpectMemory(t, 192)
	p.ExpectUsers(t, "Ada")
	program.ExpectNoSpool(t, p)
}

func TestAMillionUsersAreImportedInBoundedMemory(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsLong(t)
	const n = 1_000_000
	p := program.Serve(t)
	p.At(p.URL).Do(t, "POST", program.CSV, program.ManyRows(n)).Expect(t, 200, program.Imported(n, 0, 0, 0))
	p.ExpectMemory(t, 192)
}

// What an import costs is in proportion to its rows: some files took 20 to 50 times the processor's time of one with new
// users. They may take three times as much.
func TestRowsThatRepeatEmailsOrAreRefusedCostNoMoreThanOthers(t *testing.T) {
	t.Parallel()
	const n = 10_000
	p := program.Serve(t, "USER_FIELDS=room")
	p.Run(t, "add-field", "--unique", "room").MustSucceed(t)
	p = p.Again(t, "USER_FIELDS=room")
	spent := func() (user, system int) { // in hundredths of a second
		_, numbers, _ := strings.Cut(program.ReadFile(t, fmt.Sprintf("/proc/%d/stat", p.PID())), ") ")
		_, err := fmt.Sscan(strings.Join(strings.Fields(numbers)[11:13], " "), &user, &system)
		program.Must(t, err)
		return user, system
	}
	cost := func(parameters, row, answer string) int {
		file := "name,email,room\n"
		for i := range n {
			file += fmt.Sprintf(row+"\n", i)
		}
		user, system := spent()
		p.Do(t, "POST", program.CSV+parameters, file).Expect(t, 200, answer)
		userThen, systemThen := spent()
		return userThen - user + systemThen - system
	}
	good := cost("", "N%d,e%[1]d,r%[1]d", program.Imported(n, 0, 0, 0))
	for name, test := range map[string][3]string{
		"one email, which is updated":     {"?on_conflict=update", "N%d,e,", program.Imported(1, n-1, 0, 0)},
		"one email, which is refused":     {"?on_error=skip", "N%d,e1,", "…"},
		"emails that exist":               {"?on_error=skip", "N%d,e%[1]d,", "…"},
		"a unique value that another has": {"?on_error=skip", "N%d,x%[1]d,r%[1]d", "…"},
		"one unique value":                {"?on_error=skip", "N%d,y%[1]d,y", "…"},
	} {
		if it := cost(test[0], test[1], test[2]); it > 3*good+50 {
			t.Errorf("rows with %s cost %d, and new users %d", name, it, good)
		}
	}
	p.Do(t, "GET", "/api/users?email=e", "").Expect(t, 200, fmt.Sprintf(`[{…"name":"N%d",…}]`, n-1)) // rows are stored in their order
}
