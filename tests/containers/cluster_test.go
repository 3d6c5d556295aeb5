//go:build containers

package containers

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

// The images of etcd and PostgreSQL cannot be had where the tests run: compose reads the file, and nothing of it is started. What
// Patroni is told there is what docs/patroni.env tells it, and tests/cluster runs that.
func TestTheClusterOfComposeIsTheDocumentedOne(t *testing.T) {
	var settings strings.Builder
	for _, name := range []string{"etcd.env", "patroni.env"} {
		settings.WriteString(program.ReadFile(t, filepath.Join(repository, "docs", name)))
	}
	names := regexp.MustCompile(`(?m)^((?:PATRONI|ETCD)_\w+)=`).FindAllStringSubmatch(settings.String(), -1)
	program.Expect(t, "how many settings docs/etcd.env and docs/patroni.env have", len(names), 12+7)
	services := readCompose(t, []string{"SUPERUSER_PASSWORD=a", "REPLICATION_PASSWORD=b", "RESTAPI_PASSWORD=c", "USERS_PASSWORD=d"},
		"--file", "docker-compose.ha.yml")
	for _, name := range names {
		service := strings.ToLower(name[1][:strings.Index(name[1], "_")])
		for _, machine := range []string{"1", "2", "3"} {
			of := strings.Replace(service, "patroni", "pg", 1) + machine
			if value := services[of].Environment[name[1]]; value == nil || *value == "" {
				t.Errorf("docker-compose.ha.yml does not set %s for %s", name[1], of)
			}
		}
	}
	url := services["users-api"].Environment["DATABASE_URL"]
	program.Expect(t, "the URL of the service", *url, "postgres://users:d@pg1,pg2,pg3/users")
}
