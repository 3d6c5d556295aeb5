//go:build containers

package containers

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// askWithKey returns the status of an answer.
func (a api) askWithKey(key, method, path, body string) int {
	a.t.Helper()
	request, err := http.NewRequest(method, a.base+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// overrides writes the file for keys that docs/installing.md shows. What git knows stays as it is.
func (p project) overrides() {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs", "installing.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(text), "```yaml\n# docker-compose.override.yml\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		p.t.Fatal("docs/installing.md shows no docker-compose.override.yml")
	}
	if err := os.WriteFile(filepath.Join(p.directory, "docker-compose.override.yml"), []byte(shown), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func TestComposeAsksForTheKeyInASecretAndExchangesItWithARestart(t *testing.T) {
	const first, second = "first-key-0123456789", "second-key-0123456789"
	p := newProject(t)
	p.overrides()
	secret := filepath.Join(p.directory, "api_key")
	expect := func(keys string, want map[string]int) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		p.compose("up", "--detach", "--wait")
		p.compose("restart")
		service := p.service("users-api")
		service.becomes("healthy", 10*time.Second)
		for key, status := range want {
			if got := service.api().askWithKey(key, "GET", "/api/users", ""); got != status {
				t.Errorf("with the file %q the key %q is answered %d", keys, key, got)
			}
		}
		if log := service.log(); strings.Contains(log, first) || strings.Contains(log, second) || strings.Contains(log, "anyone") {
			t.Errorf("the log has a key, or warns of an open service:\n%s", log)
		}
		if uid := service.process("Uid"); uid != "65532 65532 65532 65532" {
			t.Errorf("it serves as %s", uid)
		}
	}
	expect(first+"\n", map[string]int{"": 401, first: 200, second: 401})
	expect(first+"\n"+second+"\n", map[string]int{"": 401, first: 200, second: 200})
	expect(second+"\r\n", map[string]int{"": 401, first: 401, second: 200})
}

func TestTheAdminPortIsReachedFromOtherContainersAndNotPublished(t *testing.T) {
	c := startHealthy(t, "--env", "ADMIN_PORT=9090")
	if published := docker(t, "port", c.name); strings.Contains(published, "9090") {
		t.Errorf("it is published: %s", published)
	}
	scraped := docker(t, "run", "--rm", "--network", "container:"+c.name, golang, "wget", "-qO-", "http://127.0.0.1:9090/metrics")
	if !strings.Contains(scraped, "users_api_build_info{") {
		t.Errorf("another container is answered %s", scraped)
	}
}

// Settings are written into .env, as docs/settings.md says.
func TestAKeyInDotEnvIsRequired(t *testing.T) {
	const key = "first-key-0123456789"
	p := newProject(t)
	if err := os.WriteFile(filepath.Join(p.directory, ".env"), []byte("API_KEY="+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.compose("up", "--detach", "--wait")
	for given, status := range map[string]int{"": 401, key: 200} {
		if got := p.service("users-api").api().askWithKey(given, "GET", "/api/users", ""); got != status {
			t.Errorf("the key %q is answered %d", given, got)
		}
	}
}
