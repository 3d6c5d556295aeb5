package controllers

import (
	"fmt"
	"strings"
	"testing"
)

// What is as large as it may be is taken, and what is one larger is not.
func TestARowOfAFileMayBeAsLargeAsIsSaid(t *testing.T) {
	const tooLong = "refused: The row in line 2 is longer than 4 MiB: a quote that ends a value may be missing"
	name := strings.Repeat("n", largestRow-len(",a"))
	columns := strings.Repeat(",", maxColumns-1)
	wrongCount := fmt.Sprintf("2: The row has %d values, and the header 2 columns; 3 B|b", maxColumns)
	for _, test := range []struct{ name, row, want string }{
		{"4 MiB", name + ",a", "2 " + name + "|a; 3 B|b"},
		{"4 MiB and a byte", name + "n,a", tooLong},
		{"4 MiB of line breaks in quotes", `"` + strings.Repeat("\r", largestRow) + `",a`, tooLong},
		{"as many values as may be", columns, wrongCount},
		{"one value more", columns + ",", "refused: The row in line 2 has more than 16384 values"},
		{"as many values as may be, and more than 4 MiB", columns + name, tooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readCSV("name,email\n" + test.row + "\nB,b\n"); got != test.want {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
		})
	}
}

func TestALineOfNDJSONMayBeAsLongAsIsSaid(t *testing.T) {
	object := `{"name":"A","email":"a"}`
	line := object + strings.Repeat(" ", largestRow-len(object))
	for text, taken := range map[string]bool{line: true, line + " ": false} {
		for _, end := range []string{"", "\n"} {
			if got := readFile(openNDJSON(strings.NewReader(text+end), fields, false)); (got == "1 A|a") != taken {
				t.Errorf("a line of %d bytes with the end %q: %v", len(text), end, got)
			}
		}
	}
}
