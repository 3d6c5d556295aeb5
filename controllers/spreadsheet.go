package controllers

import "strings"

const formulaStarts = "=+-@\t\r"

// separators are the characters after which a spreadsheet may begin a new cell. Which one it uses depends on its user's
// settings. If that is not the comma, quotes around a value do not hide the separators in it, because quotes count only
// at the start of a cell.
const separators = ",;|\t\r\n"

// toSpreadsheet puts an apostrophe before each character that would begin a formula in some spreadsheet.
func toSpreadsheet(value string) string {
	return beforeFormulas(value, func(before string) string { return before + "'" })
}

// fromSpreadsheet removes the apostrophes that toSpreadsheet added.
func fromSpreadsheet(value string) string {
	return beforeFormulas(value, func(before string) string { return strings.TrimSuffix(before, "'") })
}

// beforeFormulas changes the text before each place where a formula would begin: at the start of a value, or after a
// separator. Quotes in between do not count, because a spreadsheet may remove them. Apostrophes do not count either, so
// that fromSpreadsheet leaves as many as there were.
func beforeFormulas(value string, change func(before string) string) string {
	var changed []byte
	done := 0
	for cell, next := 0, 0; next >= 0; cell += next + 1 {
		start := len(value) - len(strings.TrimLeft(value[cell:], `"'`))
		if start < len(value) && strings.IndexByte(formulaStarts, value[start]) >= 0 {
			changed = append(changed, change(value[done:start])...)
			done = start
		}
		next = strings.IndexAny(value[cell:], separators)
	}
	return string(changed) + value[done:]
}
