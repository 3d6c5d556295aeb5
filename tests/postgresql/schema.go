package postgresql

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// dumpComments are the lines of pg_dump that name versions and random keys.
var dumpComments = regexp.MustCompile(`(?m)^(--.*|\\.*|)\n`)

// Schema returns the definitions of everything in a database, as pg_dump of the server's version writes them. Where
// there is none, it skips the rest of the test.
func Schema(t testing.TB, url string) string {
	t.Helper()
	dump, err := exec.LookPath(filepath.Join(os.Getenv("POSTGRES_BIN"), "pg_dump"))
	if err != nil {
		t.Skipf("needs pg_dump: %v", err)
	}
	text, err := exec.Command(dump, "--schema-only", "--dbname="+url).Output()
	must(t, err)
	return dumpComments.ReplaceAllString(string(text), "")
}
