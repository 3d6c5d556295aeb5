package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readSecret returns the text of a variable, or of the file named by the variable with the suffix _FILE (Docker secrets),
// and which of the two is set; "" if neither is. The error does not contain the path of the file: the secret itself may have
// been put there by mistake.
func readSecret(name string) (text, variable string, err error) {
	text, set := os.LookupEnv(name)
	path, inFile := os.LookupEnv(name + "_FILE")
	switch {
	case set && inFile:
		return "", "", fmt.Errorf("%[1]s and %[1]s_FILE are both set: unset one of them", name)
	case set:
		return text, name, nil
	case !inFile:
		return "", "", nil
	}
	text, err = readFile(path)
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		err = failure.Err
	}
	if err != nil {
		return "", "", fmt.Errorf("the file that %s_FILE names cannot be read: %w", name, err)
	}
	return text, name + "_FILE", nil
}

func isInFile(name string) bool { _, set := os.LookupEnv(name + "_FILE"); return set }

// readFile returns the text of a small regular file, without the byte order mark that editors on Windows put before it. To
// open a pipe would wait for its writer, which no signal ends.
func readFile(path string) (string, error) {
	const most = 256 << 10 // more than 1,000 keys with names, dates, hashes and comments
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file: write the text into one")
	case info.Size() > most:
		return "", errors.New("it is larger than 256 KiB")
	}
	text, err := os.ReadFile(path)
	return strings.TrimPrefix(string(text), "\ufeff"), err
}

// ReadDatabaseURL returns DATABASE_URL, the PostgreSQL database that stores the users, or "" for the file in DATA_DIR.
// The error names the variable and never its value, and the URL is not part of [Config]: it may contain a password. A
// variable that is set but empty is an error: users must not go into a file because a secret failed to arrive.
func ReadDatabaseURL() (string, error) {
	text, variable, err := readSecret("DATABASE_URL")
	url := strings.TrimRight(text, "\r\n")
	if err == nil && variable != "" && url == "" {
		err = fmt.Errorf("%s is set and empty: unset it to keep users in DATA_DIR, or give it a URL, such as "+
			"postgres://users:password@db.example.org/users", variable)
	}
	return url, err
}
