package database_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"users-api/models"
	"users-api/tests/program"
)

func TestATextIsFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "Ada": "ada", "José Ängström": "jose angstrom", "Jose\u0301": "jose", "ŁUKASZ": "lukasz", "Straße": "strasse", "STRAẞE": "strasse",
		"Ægir Þór Ørn Đorđe Ðað Ħŧ": "aegir thor orn dorde dad ht", "Cœur ŒUVRE": "coeur oeuvre", "Ǽ ǿ": "ae o", "İSTANBUL ısparta": "istanbul isparta",
		"Иван Фёдоров": "иван федоров", "ΟΔΥΣΣΕΎΣ": "οδυσσευσ", "Οδυσσεύς": "οδυσσευσ", "\u212aelvin": "kelvin", "Nguyễn": "nguyen",
		"か\u3099": "が", "が": "が", "か": "か", "\u1112\u1161": "하", "하": "하", "王": "王", "عبد": "عبد", "\xffÉ\x00\xc3": "\xffe\x00\xc3",
		"O’Neill ‘x’": "o'neill 'x'", "\ufeffA\u200bda": "ada", "e\u200b\u0301": "e", "か\u200b\u3099": "が", "\u200b": "",
		"Ａ": "ａ", "Ⓐ": "ⓐ", "É \U0001e4ec": "É \U0001e4ec", "É \U0001f600": "e \U0001f600",
	} {
		if got := models.Fold(text); got != want {
			t.Errorf("%q is folded to %q, want %q", text, got, want)
		}
	}
}

// What is folded stays, so that a value of a list finds its user, and a place in an order is one.
func TestAFoldedTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine folds every character")
	}
	for char := range unicode.MaxRune {
		if folded := models.Fold(string(char)); models.Fold(folded) != folded {
			t.Errorf("%U is folded to %q, and that to %q", char, folded, models.Fold(folded))
		}
	}
}

// The index of SQLite has texts letter by letter, as they are stored.
func TestAnIndexFindsWhatIsStoredInAnotherForm(t *testing.T) {
	found := map[string]string{ // by what is stored
		"Łukasz Müller": "lukasz", "SCHA\u0308FER": "schäfer", "Иван Ёлкин": "елкин", "Άννα": "αννα", "Straße": "strasse",
		"x\u0651\u064ey": "x\u064e\u0651y", "\u0995\u09c7\u09be\u0995": "\u0995\u09cb\u0995", "\u0e01\u0e49\u0e38ab": "\u0e01\u0e38\u0e49ab",
		"\u1112\u1161\u11ab\u1100\u1173\u11af\u1112\u1161": "한글하", "か\u3099きく": "がきく", "\u0627\u0653لعب": "\u0622لعب", "\u2126mega": "ωme",
		"łøđðħŧıßæœþς": "loddhtissaeoethσ", "O’Neill": "o'neill", "D'Arcy": "d’arcy", "Gr\u200bace\ufeff": "grace", "Lee": "\ufeffl\u200bee",
		"王小明": "王小明", strings.Repeat("é", 5000) + "Ende": "eende", "É \U0001e4ec wie": "wie",
		"\U0001e4ec Élan": "\U0001e4ec Élan",
	}
	onEach(t, func(t *testing.T, s *storage) {
		program.Must(t, errors.Join(s.Close(ctx), s.at.IndexSearch(ctx)))
		s.Users = s.open(t)
		for stored, sought := range found {
			s.create(t, stored)
			if users := selected(t, s.Users, models.Query{Where: models.And{models.Search(sought)}}); len(users) != 1 || users[0].Name != stored {
				t.Errorf("%+q finds %+v, want %+q", sought, users, stored)
			}
		}
	})
}
