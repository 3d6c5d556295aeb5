package config

import (
	"os"
	"path/filepath"
	"testing"
)

// setDatabase sets the two variables, and unsets what is not given.
func setDatabase(t *testing.T, variables map[string]string) {
	for _, name := range []string{"DATABASE_URL", "DATABASE_URL_FILE"} {
		t.Setenv(name, "") // so that it is as it was after the test
		_ = os.Unsetenv(name)
		if value, set := variables[name]; set {
			t.Setenv(name, value)
		}
	}
}

func writeURL(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheDatabaseIsReadFromTheVariableOrItsFile(t *testing.T) {
	const url, long = "postgres://ada:secret@a,b:5433/users?sslmode=require", "postgresql:///users"
	for _, c := range []struct {
		name      string
		variables map[string]string
		want      string
	}{
		{"nothing", nil, ""},
		{"the variable", map[string]string{"DATABASE_URL": url}, url},
		{"the longer scheme", map[string]string{"DATABASE_URL": long}, long},
		{"the file", map[string]string{"DATABASE_URL_FILE": writeURL(t, url)}, url},
		{"the file with a line break", map[string]string{"DATABASE_URL_FILE": writeURL(t, url+"\r\n")}, url},
	} {
		t.Run(c.name, func(t *testing.T) {
			setDatabase(t, c.variables)
			if got, err := ReadDatabaseURL(); got != c.want || err != nil {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
		})
	}
}
