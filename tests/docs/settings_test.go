package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"users-api/config"
	"users-api/tests/program"
)

// The help and docs/settings.md have every setting that the program or the compose file reads; the latter has no other.
func TestTheHelpAndTheTableOfSettingsHaveEverySetting(t *testing.T) {
	t.Parallel()
	help, _, _ := program.Run(t, nil, "help")
	table := program.ReadFile(t, "../../docs/settings.md")
	sources := program.ReadFile(t, "../../docker-compose.yml")
	for _, path := range glob(t, "../../config/*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source := program.ReadFile(t, path)
		sources += source
		for _, name := range regexp.MustCompile(`"([A-Z][A-Z_]+)"`).FindAllStringSubmatch(source, -1) {
			if !strings.Contains(table, "\n| `"+name[1]+"` |") {
				t.Errorf("%s is not in docs/settings.md", name[1])
			}
			if !strings.Contains(help, "\n  "+name[1]+" ") {
				t.Errorf("%s is not in the help", name[1])
			}
		}
	}
	for _, setting := range config.Settings() {
		if row := "\n| `" + setting.Name + "` | `" + setting.Default + "` |"; setting.Default != "" && !strings.Contains(table, row) {
			t.Errorf("docs/settings.md does not have the default of %s, %s", setting.Name, setting.Default)
		}
	}
	for _, row := range regexp.MustCompile("\n\\| `([A-Z][A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if name := row[1]; !strings.Contains(sources, `"`+name+`"`) && !strings.Contains(sources, "${"+name+":-") {
			t.Errorf("docs/settings.md has %s, which nothing reads", name)
		}
	}
}

// What a person writes into .env reaches the container, or the setting's row in docs/settings.md says what to do with compose.
func TestEverySettingReachesTheContainerOrItsRowSaysHow(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Extends     string
			Environment []string
		}
	}
	text := program.ReadFile(t, "../../docker-compose.yml")
	program.Must(t, yaml.Unmarshal([]byte(text), &compose))
	passed := func(service string) []string {
		one := compose.Services[service]
		return slices.Concat(one.Environment, compose.Services[one.Extends].Environment)
	}
	table := program.ReadFile(t, "../../docs/settings.md")
	rows := regexp.MustCompile("\n\\| `([A-Z][A-Z_]+)` \\|.*").FindAllStringSubmatch(table, -1)
	if len(rows) < 15 || len(compose.Services) < 4 {
		t.Fatalf("docs/settings.md has %d settings, and docker-compose.yml %d services", len(rows), len(compose.Services))
	}
	for _, row := range rows {
		for name, says := range map[string]string{row[1]: "with compose[,:]", row[1] + "_FILE": "with compose"} {
			if !strings.Contains(row[0], "`"+name+"`") || strings.Contains(text, "${"+name+":-") ||
				regexp.MustCompile(says).MatchString(row[0]) {
				continue
			}
			for _, service := range []string{"users-api", "users-api-postgres", "dev"} {
				if !slices.Contains(passed(service), name) {
					t.Errorf("docker-compose.yml does not pass %s to %s, and docs/settings.md does not say what to do", name, service)
				}
			}
		}
	}
}

// What a deployment writes beside docker-compose.yml does not stop `git pull`, and is never committed.
func TestGitIgnoresSettingsKeysAndBackups(t *testing.T) {
	t.Parallel()
	patterns := strings.Fields(program.ReadFile(t, "../../.gitignore"))
	for _, name := range []string{".env", "docker-compose.override.yml", "api_key", "database_url", "users-backup.db", "users.dump"} {
		if !slices.ContainsFunc(patterns, func(pattern string) bool {
			matches, _ := filepath.Match(strings.TrimPrefix(pattern, "/"), name)
			return matches
		}) {
			t.Errorf("git would commit %s", name)
		}
	}
}
