//go:build containers

package containers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// overrides writes the file for keys that docs/installing.md shows. What git knows stays as it is.
func (p project) overrides() {
	p.t.Helper()
	text := program.ReadFile(p.t, filepath.Join(repository, "docs", "installing.md"))
	_, shown, found := strings.Cut(text, "```yaml\n# docker-compose.override.yml\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		p.t.Fatal("docs/installing.md shows no docker-compose.override.yml")
	}
	program.Must(p.t, os.WriteFile(filepath.Join(p.directory, "docker-compose.override.yml"), []byte(shown), 0o644))
}

func TestComposeAsksForTheKeyInASecretAndExchangesItWithARestart(t *testing.T) {
	const first, second = "first-key-0123456789", "second-key-0123456789"
	p := newProject(t)
	p.overrides()
	config := p.compose("--profile", "postgres", "config", "users-api-postgres")
	_, beside, _ := strings.Cut(config, "\n  users-api-postgres:\n")
	for _, line := range []string{"API_KEY_FILE: /run/secrets/api_key", "- source: api_key", "- source: database_url"} {
		program.Expect(t, "the service beside PostgreSQL", beside, "…"+line+"…")
	}
	secret := filepath.Join(p.directory, "api_key")
	expect := func(keys string, want map[string]int) {
		t.Helper()
		program.Must(t, os.WriteFile(secret, []byte(keys), 0o600))
		p.compose("up", "--detach", "--wait")
		p.compose("restart")
		service := p.service("users-api")
		service.becomes("healthy", 10*time.Second)
		for key, status := range want {
			service.api().Do(t, "GET", "/api/users", "", "Authorization: Bearer "+key).Expect(t, status, "…")
		}
		program.Forbid(t, service.log(), first, second, "anyone") // a key, or the warning of an open service
	}
	expect(first+"\n", map[string]int{"": 401, first: 200, second: 401})
	expect(first+"\n"+second+"\n", map[string]int{"": 401, first: 200, second: 200})
	expect(second+"\r\n", map[string]int{"": 401, first: 401, second: 200})
}
