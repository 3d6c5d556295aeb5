package controllers

import (
	"fmt"
	"strings"
)

// formulaStarts are the characters with which a spreadsheet's formula may begin.
const formulaStarts = "=+-@\t\r"

// toSpreadsheet puts an apostrophe before what a spreadsheet would run as a formula; and before what has apostrophes
// before that already, so that fromSpreadsheet leaves as many as there were.
func toSpreadsheet(value string) string {
	if isFormula(strings.TrimLeft(value, "'")) {
		return "'" + value
	}
	return value
}

// fromSpreadsheet takes off the apostrophe that toSpreadsheet put there.
func fromSpreadsheet(value string) string {
	if strings.HasPrefix(value, "'") && isFormula(strings.TrimLeft(value, "'")) {
		return value[1:]
	}
	return value
}

func isFormula(value string) bool {
	return value != "" && strings.IndexByte(formulaStarts, value[0]) >= 0
}

// count writes how many of something there are.
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
