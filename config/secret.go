package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// secret is the text of a variable, or of the file named by the variable with the suffix _FILE (Docker secrets).
type secret struct {
	variable string // the one that is set; "" if neither is
	text     string
}

// readSecret reads a variable in either form. The error does not contain the path of the file: the secret itself may
// have been put there by mistake.
func readSecret(name string) (secret, error) {
	text, set := os.LookupEnv(name)
	path, inFile := os.LookupEnv(name + "_FILE")
	switch {
	case set && inFile:
		return secret{}, fmt.Errorf("%[1]s and %[1]s_FILE are both set: unset one of them", name)
	case set:
		return secret{name, text}, nil
	case !inFile:
		return secret{}, nil
	}
	text, err := readFile(path)
	if err != nil {
		return secret{}, fmt.Errorf("the file that %s_FILE names cannot be read: %w", name, err)
	}
	return secret{name + "_FILE", text}, nil
}

// readFile returns the text of a small file. The error does not contain the path.
func readFile(path string) (string, error) {
	const most = 256 << 10 // more than 1,000 keys with names, dates, hashes and comments
	var text []byte
	file, err := os.Open(path)
	if err == nil {
		defer file.Close() //nolint:errcheck // it was only read
		text, err = io.ReadAll(io.LimitReader(file, most+1))
	}
	if len(text) > most {
		err = errors.New("it is larger than 256 KiB")
	}
	return string(text), withoutPath(err)
}

func withoutPath(err error) error {
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return failure.Err
	}
	return err
}
