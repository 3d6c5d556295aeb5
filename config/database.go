package config

import (
	"fmt"
	"strings"
)

// ReadDatabaseURL returns DATABASE_URL, the PostgreSQL database that stores the users, or "" for the file in DATA_DIR.
// The error names the variable and never its value, and the URL is not part of [Config], because it may contain a
// password.
//
// A variable that is set but empty is an error, as with the keys: users must not go into a file because a secret failed
// to arrive.
func ReadDatabaseURL() (string, error) {
	const rule = "such as postgres://users:password@db.example.org/users"
	secret, err := readSecret("DATABASE_URL")
	if err != nil || secret.variable == "" {
		return "", err
	}
	url := strings.TrimRight(secret.text, "\r\n")
	switch {
	case url == "":
		return "", fmt.Errorf("%s is set and empty: unset it to keep users in DATA_DIR, or give it a URL, %s", secret.variable, rule)
	case !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		return "", fmt.Errorf("%s must begin with postgres:// or postgresql://, %s", secret.variable, rule)
	case strings.ContainsFunc(url, func(char rune) bool { return char <= ' ' || char == 0x7f }):
		return "", fmt.Errorf("%s has a space or a line break: write a space as %%20, and one URL on one line, %s", secret.variable, rule)
	}
	return url, nil
}
