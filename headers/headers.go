// Package headers reads the headers of a request that are lists (RFC 9110, section 5.6.1).
package headers

import (
	"iter"
	"mime"
	"strconv"
	"strings"
)

// Elements yields the elements between the commas of header lines, which count as one list. A comma in quotes is part
// of its element.
func Elements(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			start, quoted := 0, false
			for at := 0; at <= len(line); at++ {
				if at < len(line) && line[at] == '"' {
					quoted = !quoted
				}
				if at < len(line) && (line[at] != ',' || quoted) {
					continue
				}
				if element := strings.TrimSpace(line[start:at]); element != "" && !yield(element) {
					return
				}
				start = at + 1
			}
		}
	}
}

// Accepts reports whether the lines of Accept or Accept-Encoding list a name in lower case, and at least once not with
// a quality of 0, which refuses it (RFC 9110, section 12.4.2). It knows no wildcards. If the name is not listed, listed
// is false.
func Accepts(lines []string, name string) (accepts, listed bool) {
	quality, listed := Quality(lines, name)
	return quality > 0, listed
}

// Quality returns the highest quality that the lines give a name, 0 if they do not list it.
func Quality(lines []string, name string) (highest float64, listed bool) {
	for element := range Elements(lines) {
		is, parameters, err := mime.ParseMediaType(element)
		if err != nil || is != name {
			continue
		}
		listed = true
		quality := 1.0
		if given, ok := parameters["q"]; ok {
			quality, _ = strconv.ParseFloat(given, 64) // 0 if it is no number
		}
		if quality > highest {
			highest = quality
		}
	}
	return highest, listed
}
