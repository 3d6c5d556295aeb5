package backups

import (
	"testing"

	"users-api/tests/program"
)

func TestABackupWithoutTheColumnIsRestoredAndTheNextStartSaysWhatToDo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	old := program.Serve(t)
	old.Create(t, "Ada", "ada@example.org")
	backup := program.BackUp(t, old.DataDir)

	settings := []string{"DATA_DIR=" + t.TempDir(), "USER_FIELDS=room"}
	program.Serve(t, settings...).Stop(t)
	restored := program.RunWith(t, settings, nil, "restore", backup)
	if match := program.Done.FindStringSubmatch(restored.Stderr); restored.Code != 0 || match == nil || match[2] != "1" {
		t.Fatalf("it ended with %d and %q", restored.Code, restored.Stderr)
	}
	program.ExpectRefusal(t, program.Launch(t, program.Path(), settings...),
		"the table users has no column room: run `users-api add-field room`")
	program.RunWith(t, settings, nil, "add-field", "room").MustSucceed(t)
	program.Serve(t, settings...).Do(t, "GET", "/api/users", "").Expect(t, 200,
		`[{"id":1,"name":"Ada","email":"ada@example.org",…,"room":null}]`)
}
