package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeLicenses writes what "users-api licenses" prints.
func writeLicenses(path string) error {
	text, err := licenses()
	if err != nil {
		return err
	}
	compressed, err := compress([]byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(path, compressed, 0o644)
}

// licenses returns the licences of all software in the program.
func licenses() (string, error) {
	all, err := components()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("No licence has been chosen for users-api itself yet. It contains:\n")
	for _, one := range all {
		title := one.name + " " + one.version
		if one.name == "Go" { // any that go.mod allows
			title = one.name
		}
		fmt.Fprintf(&text, "\n%s\n%s\n", strings.Repeat("=", 80), title)
		for _, path := range one.licenses {
			license, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			// Lines end as on other systems, so that the text is the same wherever it is made.
			plain := strings.TrimSpace(strings.ReplaceAll(string(license), "\r\n", "\n"))
			fmt.Fprintf(&text, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), filepath.Base(path), plain)
		}
	}
	return text.String(), nil
}
