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
			if name[1] == "PUID" { // what other images have, and this program warns of
				continue
			}
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

// What a person writes into .env or sets in the shell reaches the container: a setting that was dropped would be missed by nobody.
func TestEverySettingReachesTheContainer(t *testing.T) {
	t.Parallel()
	type service struct {
		Extends     string
		EnvFile     []map[string]any `yaml:"env_file"`
		Environment map[string]any
	}
	var compose struct{ Services map[string]service }
	program.Must(t, yaml.Unmarshal([]byte(program.ReadFile(t, "../../docker-compose.yml")), &compose))
	names := []string{"API_KEY_FILE", "API_READ_KEY_FILE", "DATABASE_URL_FILE"}
	for _, setting := range config.Settings() {
		names = append(names, setting.Name)
	}
	for _, name := range []string{"users-api", "users-api-postgres", "dev"} {
		given := compose.Services[name]
		if given.Extends != "" {
			given = compose.Services[given.Extends]
		}
		program.Expect(t, "the files of settings of "+name, given.EnvFile, []map[string]any{{"path": ".env", "required": false}})
		// What has no value is taken out of the image's environment: the service would be root.
		program.Expect(t, "who serves in "+name, given.Environment["RUN_AS"], "${RUN_AS:-65532}")
		for _, setting := range names {
			if _, passed := given.Environment[setting]; !passed {
				t.Errorf("docker-compose.yml does not pass %s to %s", setting, name)
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
