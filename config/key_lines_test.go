package config

import (
	"os"
	"strings"
	"testing"
	"time"
)

const sumA = "sha256:0c0beacef8877bbf2416eb00f2b5dc96354e26dd1df5517320459b1236860f8c" // printf aaaaaaaaaaaaaaaa | sha256sum

// until is a key with the name a.
func until(end time.Time, key string) Keys { return Keys{}.with(Key{"a", end, true}, key) }

func TestEveryFormOfALineIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  Keys
	}{
		"a key without a newline":              {keyA, full(keyA)},
		"from Windows, with blank lines":       {"\r\n" + keyA + "\r\n\r\n" + keyC, full(keyA, keyC)},
		"a sum":                                {sumA, full(keyA)},
		"a name and a sum in capitals":         {"hr-sync " + strings.ToUpper(sumA), named("hr-sync", keyA)},
		"a name of digits and marks":           {"0._-Z " + keyA, named("0._-Z", keyA)},
		"the longest name":                     {longName + " " + keyA, named(longName, keyA)},
		"one name for two keys":                {"a " + keyA + "\na " + keyC, named("a", keyA, keyC)},
		"blanks and tabs around words":         {"\t a \t" + keyA + " \t\r\n", named("a", keyA)},
		"comments on their lines":              {"# all of them\n  #\n#\n" + keyA, full(keyA)},
		"comments after keys":                  {keyA + " # of 2026\n" + keyC + "\t#", full(keyA, keyC)},
		"a key with # inside and at its end":   {keyA + "#" + keyB + "#", full(keyA + "#" + keyB + "#")},
		"a last day":                           {"a " + keyA + " 2027-01-31", until(endOf(2027, 1, 31), keyA)},
		"a last day and a comment":             {"a " + sumA + " 2028-02-29 # x", until(endOf(2028, 2, 29), keyA)},
		"a key that begins like a sum, nearly": {"sha256-" + keyA, full("sha256-" + keyA)},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, map[string]string{"API_KEY_FILE": c.lines})
			expectKeys(t, c.want)
		})
	}
}

func TestAKeyEndsAtTheMidnightAfterItsLastDay(t *testing.T) {
	midnight := endOf(2027, 1, 31)
	last := Key{Until: midnight}
	if last.Ended(midnight.Add(-1)) || !last.Ended(midnight) || (Key{}).Ended(midnight) {
		t.Errorf("a key ends at %s, and one without a last day never: %t, %t, %t", midnight,
			last.Ended(midnight.Add(-1)), last.Ended(midnight), Key{}.Ended(midnight))
	}
}

func TestTheFileOfKeysThatTheDocumentShowsIsRead(t *testing.T) {
	text, err := os.ReadFile("../docs/operating.md")
	must(t, err)
	_, shown, _ := strings.Cut(string(text), "```\n# API_KEY_FILE\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	environment(t, map[string]string{"API_KEY_FILE": shown})
	ring, err := ReadKeys()
	if err != nil || len(*ring.keys.Load()) != 3 {
		t.Errorf("%q is read as %v, %v", shown, ring, err)
	}
}

func TestAMistakeInALineIsNamedWithItsNumberAndWithoutTheKey(t *testing.T) {
	const (
		short = "a key that is too short"
		name  = "a name that a key cannot have"
		after = "something else than a date after a key"
		sum   = "a key that begins with sha256: and does not go on with 64 hexadecimal digits"
		char  = "a key with a character that keys cannot have"
		twice = "a key that is already listed"
	)
	for title, c := range map[string]struct{ lines, has string }{
		"a short key further down":    {keyA + "\n\n# of 2026\nb", "4 " + short},
		"a name and a short key":      {"hr-sync " + keyA[1:], "1 " + short},
		"a date without a name":       {keyA + " 2027-01-31", "1 " + short},
		"a name of 25 characters":     {longName + "a " + keyA, "1 " + name},
		"a name that begins with -":   {"-a " + keyA, "1 " + name},
		"a name beyond ASCII":         {"aaaaé " + keyA, "1 " + name},
		"a day that does not exist":   {"a " + keyA + " 2027-02-29", "1 " + after},
		"a day in another form":       {"a " + keyA + " 31.01.2027", "1 " + after},
		"a word after the day":        {"a " + keyA + " 2027-01-31 aaaa", "1 " + after},
		"a sum that is too long":      {"a sha256:" + strings.Repeat("a", 66), "1 " + sum},
		"a sum with a letter too far": {"sha256:" + strings.Repeat("a", 63) + "g", "1 " + sum},
		"a control character":         {keyA + "\x7f", "1 " + char},
		"another blank":               {keyA + "\v" + keyA, "1 " + char},
		"a letter beyond ASCII":       {keyA + "é", "1 " + char},
		"a key and its sum":           {keyA + "\n" + "a " + sumA, "2 " + twice},
	} {
		t.Run(title, func(t *testing.T) {
			environment(t, map[string]string{"API_KEY_FILE": c.lines})
			number, has, _ := strings.Cut(c.has, " ")
			expectMistake(t, "line "+number+" of API_KEY_FILE has "+has)
		})
	}
}
