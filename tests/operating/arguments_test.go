package operating

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAMistakeInTheArgumentsIsOneLineThatHelps(t *testing.T) {
	t.Parallel()
	for _, mistake := range []struct{ arguments, says string }{
		{"serve", `unknown command "serve"…users-api --help`},
		{"--port=1", "unknown flag: --port…users-api --help"},
		{"backup|--fast|x", "unknown flag: --fast…users-api backup --help"},
		{"backup", "accepts 1 arg(s), received 0…users-api backup --help"},
		{"restore|a.db|b.db", "accepts 1 arg(s), received 2…users-api restore --help"},
		{"add-field|Phone", `"Phone" cannot be the name of a field…users-api add-field --help`},
		{"add-field|--unique|email", "every user has the field email already…users-api add-field --help"},
		{"changes|on", `invalid argument "on"…users-api changes --help`},
		{"index-search|drop", `unknown command "drop" for "users-api index-search"`},
		{"key|hr sync", `"hr sync" is a name that a key cannot have`},
	} {
		t.Run(mistake.arguments, func(t *testing.T) {
			t.Parallel()
			done := program.RunCommand(t, t.TempDir(), nil, strings.Split(mistake.arguments, "|")...)
			done.ExpectMistake(t, strings.Split(mistake.says, "…")...)
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for command, says := range map[string]string{
		"": "With compose|PUBLISH |backup |restore |add-field |ignore-email-case |changes |index-search |key |healthcheck |--version ",
		"backup": "whether the service runs or not|must not exist|" +
			"users-api backup - >users-backup.db.new && mv users-backup.db.new users-backup.db|With compose, write `docker compose run --rm -T users-api`",
		"add-field":         "USER_FIELDS|users-api add-field phone department|--unique|DROP INDEX|With compose",
		"ignore-email-case": "users_email_nocase|A to Z|DROP INDEX|With compose",
		"changes":           "users_changes|GET /api/changes|what other programs write is not|users-api changes restart|With compose",
		"index-search":      "--drop|USER_FIELDS|(q)|three characters|With compose",
		"restore":           "Stop the service first|users.db.replaced-|restore - <users-backup.db",
		"key":               "API_KEY|API_KEY_FILE|users-api key hr-sync >> api_key|With compose",
		"healthcheck":       "PORT|exit code is 1|docker compose ps",
		"licenses":          "modules|Go|Swagger UI",
	} {
		for _, form := range []string{"help " + command, command + " --help"} {
			t.Run(form, func(t *testing.T) {
				t.Parallel()
				expectPrinted(t, form, strings.Split(says, "|")...)
			})
		}
	}
	line := strings.Repeat("=", 80) + "\n" // packaging/licenses_test.go compares the texts with those of all that the program contains
	expectPrinted(t, "licenses", line+"Go\n", line+"gorm.io/gorm v", line+"swagger-ui-dist 5.", "Copyright (c) ")
}

// expectPrinted runs a command, and fails the test unless it ends well and prints all of this.
func expectPrinted(t *testing.T, arguments string, texts ...string) {
	t.Helper()
	done := program.RunCommand(t, t.TempDir(), nil, strings.Fields(arguments)...)
	for _, text := range texts {
		program.Expect(t, "users-api "+arguments, done, program.Outcome{Stdout: "…" + text + "…"})
	}
}

// With a name, the line of a file is printed, and the key, which is shown once, is on stderr.
func TestEachKeyIsNewAndANamedOneIsALineWithoutIt(t *testing.T) {
	t.Parallel()
	isKey, seen := regexp.MustCompile(`^[!-~]{26}\n$`), map[string]bool{}
	for range 5 {
		plain := program.RunCommand(t, t.TempDir(), nil, "key")
		named := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
		program.Expect(t, "users-api key hr-sync", named.Stdout, lineOf(strings.TrimSpace(named.Stderr)))
		for _, key := range []string{plain.Stdout + plain.Stderr, named.Stderr} {
			program.Expect(t, fmt.Sprintf("whether %q is a key", key), isKey.MatchString(key), true)
			seen[key] = true
		}
	}
	program.Expect(t, "how many of 10 keys differ", len(seen), 10)
}

// tests/containers and tests/releases have those of a release.
func TestTheVersionIsPrintedAndInTheLogAndTheDocument(t *testing.T) {
	t.Parallel()
	printed := program.RunCommand(t, t.TempDir(), nil, "--version").Stdout
	parts := regexp.MustCompile(`^users-api (\S+) \((\S+)\)\n$`).FindStringSubmatch(printed)
	if parts == nil {
		t.Fatalf("it prints %q", printed)
	}
	p := program.Serve(t)
	first, _, _ := strings.Cut(p.Log(), "\n")
	program.Expect(t, "the first line", first, "…version="+parts[1]+" revision="+parts[2]+"…")
	p.Do(t, "GET", "/openapi.json", "").Expect(t, 200, `…"version": "`+parts[1]+`"…`)
}
