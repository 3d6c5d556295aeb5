package controllers

import (
	"iter"
	"strings"
)

// formulaStarts are the characters that can begin a formula in a spreadsheet.
const formulaStarts = "=+-@\t\r"

// separators are the characters after which a spreadsheet may begin a new cell. Which one it uses depends on its user's
// settings. If that is not the comma, quotes around a value do not hide the separators in it, because quotes count only
// at the start of a cell.
const separators = ",;|\t\r\n"

// toSpreadsheet puts an apostrophe before each character that would begin a formula in some spreadsheet.
func toSpreadsheet(value string) string {
	var parts []string
	done := 0
	for at := range formulas(value) {
		parts = append(parts, value[done:at])
		done = at
	}
	if parts == nil {
		return value
	}
	return strings.Join(append(parts, value[done:]), "'")
}

// fromSpreadsheet removes the apostrophes that toSpreadsheet added.
func fromSpreadsheet(value string) string {
	var parts []string
	done := 0
	for at := range formulas(value) {
		if at > 0 && value[at-1] == '\'' {
			parts = append(parts, value[done:at-1])
			done = at
		}
	}
	if parts == nil {
		return value
	}
	return strings.Join(append(parts, value[done:]), "")
}

// formulas yields where a formula would begin: at the start of a value, or after a separator. Quotes in between do not
// count, because a spreadsheet may remove them. Apostrophes do not count either, so that fromSpreadsheet leaves as many
// as there were.
func formulas(value string) iter.Seq[int] {
	return func(yield func(int) bool) {
		startsCell := true
		for at := range len(value) {
			char := value[at]
			if startsCell && strings.IndexByte(formulaStarts, char) >= 0 && !yield(at) {
				return
			}
			isQuote := char == '"' || char == '\''
			startsCell = strings.IndexByte(separators, char) >= 0 || startsCell && isQuote
		}
	}
}
