//go:build strace

package strace

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// A network share or a shared folder may lack what every local file system has. Then a call fails, as strace makes it fail.
func TestAStartOnAFileSystemWithoutWhatSQLiteNeedsSaysWhatHelps(t *testing.T) {
	for name, test := range map[string]struct{ file, call, failure, says string }{
		"without shared memory": {"users.db-shm", "mmap", "ENODEV", "disk I/O error (5386)"},
		"without locks":         {"users.db", "fcntl", "ENOLCK", "locked"},
		"with broken locks":     {"users.db", "fcntl", "EIO", "disk I/O error (3850)"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			const form = "-f -qqq -o /dev/null -P %s/%s -e trace=%s -e inject=%[3]s:error=%s"
			script := underStrace(t, fmt.Sprintf(form, directory, test.file, test.call, test.failure))
			program.ExpectRefusal(t, program.Launch(t, script, "DATA_DIR="+directory),
				directory+"/users.db", test.says, "on a network share", "set DATA_DIR to a directory on a local disk")
		})
	}
}
