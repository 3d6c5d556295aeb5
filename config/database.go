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
	return readURL("DATABASE_URL", "to keep users in DATA_DIR")
}

// ReadStandbysURL returns DATABASE_READ_URL, standbys of the server in DATABASE_URL, or "" for none. The same holds for its
// error.
func ReadStandbysURL() (string, error) {
	return readURL("DATABASE_READ_URL", "to read from the server in DATABASE_URL alone")
}

func readURL(name, withoutIt string) (string, error) {
	const rule = "such as postgres://users:password@db.example.org/users"
	secret, err := readSecret(name)
	if err != nil || secret.variable == "" {
		return "", err
	}
	url := strings.TrimRight(secret.text, "\r\n")
	switch {
	case url == "":
		return "", fmt.Errorf("%s is set and empty: unset it %s, or give it a URL, %s", secret.variable, withoutIt, rule)
	case !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		return "", fmt.Errorf("%s must begin with postgres:// or postgresql://, %s", secret.variable, rule)
	case strings.ContainsFunc(url, func(char rune) bool { return char <= ' ' || char == 0x7f }):
		return "", fmt.Errorf("%s has a space or a line break: write a space as %%20, and one URL on one line, %s", secret.variable, rule)
	}
	return url, nil
}
