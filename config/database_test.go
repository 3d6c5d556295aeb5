package config

import (
	"os"
	"path/filepath"
	"strings"
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

func TestAMistakeInTheDatabaseIsNamedWithoutItsPassword(t *testing.T) {
	const password = "hunter2"
	for _, c := range []struct {
		name      string
		variables map[string]string
		says      string
	}{
		{"an empty variable", map[string]string{"DATABASE_URL": ""}, "DATABASE_URL is set and empty"},
		{"an empty file", map[string]string{"DATABASE_URL_FILE": writeURL(t, "\n")}, "DATABASE_URL_FILE is set and empty"},
		{"no file", map[string]string{"DATABASE_URL_FILE": "/gone/" + password}, "DATABASE_URL_FILE names cannot be read"},
		{"both", map[string]string{"DATABASE_URL": "postgres://a", "DATABASE_URL_FILE": "/gone"}, "are both set"},
		{"another database", map[string]string{"DATABASE_URL": "mysql://a:" + password + "@b/c"}, "DATABASE_URL must begin with"},
		{"words", map[string]string{"DATABASE_URL": "host=b password=" + password}, "DATABASE_URL must begin with"},
		{"a space", map[string]string{"DATABASE_URL": "postgres://a:" + password + " @b/c"}, "DATABASE_URL has a space"},
		{"two lines", map[string]string{"DATABASE_URL_FILE": writeURL(t, "postgres://a\npostgres://"+password)},
			"DATABASE_URL_FILE has a space or a line break"},
	} {
		t.Run(c.name, func(t *testing.T) {
			setDatabase(t, c.variables)
			got, err := ReadDatabaseURL()
			if got != "" || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %q and %v", got, err)
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}
