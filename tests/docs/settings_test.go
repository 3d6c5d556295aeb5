package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/viper"

	"users-api/config"
	"users-api/tests/program"
)

// The help and docs/settings.md have every setting that the program or the compose file reads; the latter has no other.
func TestTheHelpAndTheTableOfSettingsHaveEverySetting(t *testing.T) {
	t.Parallel()
	help := program.RunWith(t, nil, nil, "help").Stdout
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
			program.Expect(t, "docs/settings.md", table, "…\n| `"+name[1]+"` |…")
			program.Expect(t, "the help", help, "…\n  "+name[1]+" …")
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
	names := []string{"API_KEY_FILE", "API_READ_KEY_FILE", "PROXY_KEY_FILE", "DATABASE_URL_FILE"}
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

// What air runs, and with what compose gives it, because a port is published to every address of a container.
func TestAirServesThisMachineAloneAndInAContainerEveryAddress(t *testing.T) {
	t.Parallel()
	air := viper.New()
	air.SetConfigFile("../../.air.toml")
	program.Must(t, air.ReadInConfig())
	script := filepath.Join(t.TempDir(), "air")
	runs := "#!/bin/sh\nexec >&2\n" + strings.TrimSpace(air.GetString("build.full_bin")) + "\n"
	program.Must(t, os.WriteFile(script, []byte(runs), 0o755))
	compose := regexp.MustCompile(`LISTEN_ADDRESS: \$\{LISTEN_ADDRESS:-(.+?)\}`).FindStringSubmatch(program.ReadFile(t, "../../docker-compose.yml"))
	if compose == nil {
		t.Fatal("compose gives air no address")
	}
	built := filepath.Dir(program.Path())
	const forAll, forCommands = "anyone who can reach this port", "write `go run . COMMAND`"
	for _, c := range []struct{ name, address, path, says, not string }{
		{"on a machine", "", "/usr/bin:/bin", forCommands, forAll},
		{"in a container", compose[1], "/usr/bin:/bin", forAll, ""},
		{"where the program is installed", "", "/usr/bin:/bin:" + built, "msg=listening", forCommands},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := program.Start(t, script, "AIR_TMP="+built, "LISTEN_ADDRESS="+c.address, "PATH="+c.path)
			p.WaitForLog(t, c.says)
			p.Do(t, "GET", "/health", "").Expect(t, 200, "…")
			if c.not != "" {
				program.Forbid(t, p.Log(), c.not)
			}
		})
	}
}

// scrape returns the figures of a program that was asked with a key.
func scrape(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	const key = "a-key-of-the-test"
	p := program.Serve(t, "ADMIN_PORT=0", "API_KEY="+key)
	p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key)
	program.WaitFor(t, "the request is counted", func() bool { return len(program.Scrape(t, p)["http_requests_by_key_total"]) > 0 })
	return program.Scrape(t, p)
}

func TestTheTableOfMetricsHasEveryFigureOfAScrape(t *testing.T) {
	t.Parallel()
	shown, own := map[string]bool{}, regexp.MustCompile(`^((?:http|users_api)_\w+?)(?:_sum|_count|_bucket)?$`)
	for figure := range scrape(t) {
		if name := own.FindStringSubmatch(figure); name != nil {
			shown[name[1]] = true
		}
	}
	documented := map[string]bool{}
	text := program.ReadFile(t, "../../docs/operating.md")
	for _, row := range regexp.MustCompile("(?m)^\\| (`(?:http|users_api)_.*?) \\|").FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = true
		}
	}
	program.Expect(t, "what docs/operating.md has of a scrape", documented, shown)
}

func TestTheDashboardAsksForFiguresThatAScrapeHas(t *testing.T) {
	t.Parallel()
	var asks struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	program.Must(t, json.Unmarshal([]byte(program.ReadFile(t, "../../docs/grafana.json")), &asks))
	figure := regexp.MustCompile(`\b(?:http|users_api|go|process)_[a-z0-9_]+`)
	label := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"|\bby \(([^)]+)|\{\{([a-z_]+)\}\}`)
	figures, asked := scrape(t), 0
	for _, panel := range asks.Panels {
		for _, target := range panel.Targets {
			for _, name := range figure.FindAllString(target.Expr, -1) {
				asked++
				samples := " instance= " // which Prometheus adds
				for labels := range figures[name] {
					samples += labels + " "
				}
				for _, match := range label.FindAllStringSubmatch(target.Expr+target.LegendFormat, -1) {
					for one := range strings.SplitSeq(match[1]+match[2]+match[3], ", ") {
						if !strings.Contains(samples, " "+one+"=") || figures[name] == nil {
							t.Errorf("%s: a scrape does not have %s with %s: %s", panel.Title, name, one, target.Expr)
						}
					}
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("the dashboard asks for %d figures", asked)
	}
}
