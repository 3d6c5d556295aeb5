//go:build containers

package containers

import (
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestABackupOfPostgreSQLIsRestoredAsDocumented(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	service.api().Create(t, "Ada", "ada@example.com")
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* pg_dump .*)\n```"))[1])
	service.api().Create(t, "After the backup", "backup@example.com")
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* pg_restore .*\n.*)\n```"))[1])
	service.becomes("healthy", slowStart)
	service.api().Create(t, "After the restore", "restore@example.com")
	service.api().ExpectUsers(t, "Ada", "After the restore")
}

func TestTheUsersOfTheFileMoveToPostgreSQLAsDocumented(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	file := p.service("users-api").api()
	file.Delete(t, file.Create(t, "Deleted", "deleted@example.com"))
	file.Create(t, "Ada", "ada@example.com")
	before := file.Do(t, "GET", "/api/users", "").Body
	p.writeURL()
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* copy &&\n.*)\n```"))[1])
	service, _ := p.pair()
	service.api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	service.api().Create(t, "After the move", "move@example.com")
	docker(t, "rm", "--force", service.name)
	p.compose("up", "--detach", "--wait", "users-api")
	p.service("users-api").api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
}

// The image is read-only and has no /tmp, and what does not fit into memory goes into a file.
func TestFilesThatDoNotFitIntoMemoryGoIntoPostgreSQLAndOut(t *testing.T) {
	const rows = 100_000 // 4 MB
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	service.api().Do(t, "POST", program.CSV, program.ManyRows(rows)).Expect(t, 200, program.Imported(rows, 0, 0, 0))
	exported := service.api().Do(t, "GET", program.CSV, "")
	program.Expect(t, "how many users are exported", strings.Count(exported.Body, "@example.org"), rows)
}
