//go:build containers

package containers

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestABackupOfPostgreSQLIsRestoredAsDocumented(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	service.api().mustCreate("ada@example.com")
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* pg_dump .*)\n```"))[1])
	service.api().mustCreate("after-the-backup@example.com")
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* pg_restore .*\n.*)\n```"))[1])
	service.becomes("healthy", slowStart)
	service.api().mustCreate("after-the-restore@example.com")
	want := map[string]bool{"ada@example.com": true, "after-the-restore@example.com": true}
	if emails := service.api().emails(); !maps.Equal(emails, want) {
		t.Errorf("it lists %v", emails)
	}
}

func TestTheUsersOfTheFileMoveToPostgreSQLAsDocumented(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	p.service("users-api").api().mustCreate("deleted@example.com")
	p.service("users-api").api().mustCreate("ada@example.com")
	if status, _ := p.service("users-api").api().ask(http.MethodDelete, "/api/users/1", ""); status != http.StatusNoContent {
		t.Fatalf("the deletion is answered %d", status)
	}
	_, before := p.service("users-api").api().ask(http.MethodGet, "/api/users", "")
	p.writeURL()
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* copy\n.*)\n```"))[1])
	service, _ := p.pair()
	if _, after := service.api().ask(http.MethodGet, "/api/users", ""); after != before || before == "[]" {
		t.Errorf("the list was %s, and is %s", before, after)
	}
	service.api().mustCreate("after-the-move@example.com")
	docker(t, "rm", "--force", service.name)
	p.compose("up", "--detach", "--wait", "users-api")
	if _, file := p.service("users-api").api().ask(http.MethodGet, "/api/users", ""); file != before {
		t.Errorf("the list of the file was %s, and is %s", before, file)
	}
}

// The image is read-only and has no /tmp, and what does not fit into memory goes into a file.
func TestFilesThatDoNotFitIntoMemoryGoIntoPostgreSQLAndOut(t *testing.T) {
	const rows = 100_000 // 5 MB
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	var file strings.Builder
	file.WriteString("name,email\n")
	for i := range rows {
		fmt.Fprintf(&file, "A name of some length %d,%d@mail.example.com\n", i, i)
	}
	imported, answer := service.api().ask(http.MethodPost, "/api/users.csv", file.String())
	if want := fmt.Sprintf(`{"created":%d,`, rows); imported != http.StatusOK || !strings.HasPrefix(answer, want) {
		t.Fatalf("the import is answered %d %s", imported, answer)
	}
	exported, text := service.api().ask(http.MethodGet, "/api/users.csv", "")
	if got := strings.Count(text, "@mail.example.com"); exported != http.StatusOK || got != rows {
		t.Errorf("the export is answered %d, with %d of %d users", exported, got, rows)
	}
}
