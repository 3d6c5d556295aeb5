package operations

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAMistakeInTheArgumentsIsOneLineThatHelps(t *testing.T) {
	t.Parallel()
	for _, mistake := range []struct {
		arguments []string
		says      []string
	}{
		{[]string{"serve"}, []string{`there is no command "serve"`, "users-api help"}},
		{[]string{"bakup"}, []string{`there is no command "bakup"; did you mean backup?`}},
		{[]string{"restor", "x.db"}, []string{"did you mean restore?"}},
		{[]string{"help", "bakup"}, []string{"did you mean backup?"}},
		{[]string{"version"}, []string{`there is no command "version"; did you mean --version?`}},
		{[]string{"help", "version"}, []string{"did you mean --version?"}},
		{[]string{"--port=1"}, []string{"unknown flag: --port", "users-api --help"}},
		{[]string{"backup", "--fast", "x"}, []string{"unknown flag: --fast", "users-api backup --help"}},
		{[]string{"backup"}, []string{"backup needs one argument, FILE or -"}},
		{[]string{"backup", "a.db", "b.db"}, []string{"backup needs one argument", "a.db", "b.db"}},
		{[]string{"backup", ""}, []string{"backup needs one argument"}},
		{[]string{"copy", "x.db"}, []string{"copy takes no arguments"}},
		{[]string{"add-field"}, []string{"add-field needs one argument, NAME", "users-api add-field --help"}},
		{[]string{"add-field", "phone", "city"}, []string{"add-field needs one argument", "phone", "city"}},
		{[]string{"add-field", "Phone"}, []string{`"Phone" cannot be the name of a field`, "users-api add-field --help"}},
		{[]string{"add-field", ""}, []string{`"" cannot be the name of a field`}},
		{[]string{"add-field", strings.Repeat("a", 41)}, []string{"cannot be the name of a field: it has 1 to 40"}},
		{[]string{"add-field", "email"}, []string{"every user has the field email already"}},
		{[]string{"add-field", "order"}, []string{"order is a parameter of the API"}},
		{[]string{"add-fields", "phone"}, []string{"did you mean add-field?"}},
		{[]string{"ignore-email-case", "now"}, []string{"ignore-email-case takes no arguments", "now"}},
		{[]string{"changes"}, []string{"changes needs one argument, on or off, and got []", "users-api changes --help"}},
		{[]string{"changes", "On"}, []string{`changes needs one argument, on or off, and got ["On"]`}},
		{[]string{"changes", "on", "off"}, []string{"changes needs one argument", "on", "off"}},
		{[]string{"changes", ""}, []string{"changes needs one argument"}},
		{[]string{"index-search", "drop"}, []string{"index-search takes no arguments", "drop", "users-api index-search --help"}},
		{[]string{"index-search", "--on"}, []string{"unknown flag: --on", "users-api index-search --help"}},
		{[]string{"change", "on"}, []string{"did you mean changes?"}},
		{[]string{"ignore-case"}, []string{`there is no command "ignore-case"`}},
		{[]string{"restore"}, []string{"restore needs one argument, FILE or -"}},
		{[]string{"healthcheck", "now"}, []string{"healthcheck takes no arguments", "now"}},
		{[]string{"key", "hr", "sync"}, []string{"key takes one argument, NAME, and got", "hr", "sync", "users-api key --help"}},
		{[]string{"key", "hr sync"}, []string{`"hr sync" is a name that a key cannot have`, "users-api key --help"}},
		{[]string{"key", ""}, []string{`"" is a name that a key cannot have`}},
		{[]string{"licenses", "mit"}, []string{"licenses takes no arguments", "mit"}},
	} {
		t.Run(strings.Join(mistake.arguments, " "), func(t *testing.T) {
			t.Parallel()
			program.RunCommand(t, t.TempDir(), nil, mistake.arguments...).ExpectMistake(t, mistake.says...)
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for command, says := range map[string][]string{
		"": {"PORT ", "DATA_DIR ", "BACKUP_EVERY ", "backup ", "restore ", "copy ", "add-field ", "ignore-email-case ", "changes ",
			"index-search ", "key ",
			"healthcheck ", "CHANGES_KEEP ", "--version "},
		"backup": {"whether the service runs or not", "must not exist",
			"docker compose exec -T users-api /app/users-api backup - > users.db"},
		"copy":              {"Stop the service first", "DATABASE_URL=postgres://", "users-api copy"},
		"add-field":         {"USER_FIELDS", "users-api add-field phone"},
		"ignore-email-case": {"users_email_nocase", "A to Z", "DROP INDEX"},
		"changes":           {"users_changes", "GET /api/changes", "removes all of it", "changes on"},
		"index-search":      {"--drop", "USER_FIELDS", "(q)", "three characters"},
		"restore":           {"Stop the service first", "users.db.replaced-", "restore - < users.db"},
		"key":               {"API_KEY", "API_KEY_FILE", "users-api key hr-sync >> api_key"},
		"healthcheck":       {"PORT", "exit code is 1"},
		"licenses":          {"modules", "Go", "Swagger UI"},
	} {
		t.Run("help "+command, func(t *testing.T) {
			t.Parallel()
			for _, arguments := range [][]string{{"help", command}, {command, "--help"}, {command, "-h"}} {
				arguments = strings.Fields(strings.Join(arguments, " "))
				done := program.RunCommand(t, t.TempDir(), nil, arguments...)
				if done.Code != 0 || done.Stderr != "" {
					t.Errorf("%v ended with %d and %q", arguments, done.Code, done.Stderr)
				}
				for _, text := range says {
					if !strings.Contains(done.Stdout, text) {
						t.Errorf("%v does not say %q:\n%s", arguments, text, done.Stdout)
					}
				}
			}
		})
	}
}

func TestEachKeyIsNewAndGoodForAHeader(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 10 {
		done := program.RunCommand(t, t.TempDir(), nil, "key")
		if done.Code != 0 || done.Stderr != "" || !regexp.MustCompile(`^[!-~]{26}\n$`).MatchString(done.Stdout) {
			t.Fatalf("it ended with %d, and printed %q and %q", done.Code, done.Stdout, done.Stderr)
		}
		seen[done.Stdout] = true
	}
	if len(seen) != 10 {
		t.Errorf("of 10 keys %d differ", len(seen))
	}
}

func TestAKeyWithANameIsALineWithoutTheKeyAndTheKeyOnStderr(t *testing.T) {
	t.Parallel()
	done := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
	key := strings.TrimSuffix(done.Stderr, "\n")
	if done.Code != 0 || !regexp.MustCompile(`^[!-~]{26}$`).MatchString(key) {
		t.Fatalf("it ended with %d, and printed %q", done.Code, done.Stderr)
	}
	if want := fmt.Sprintf("hr-sync sha256:%x\n", sha256.Sum256([]byte(key))); done.Stdout != want {
		t.Errorf("it printed %q, want %q", done.Stdout, want)
	}
}

func TestTheVersionIsPrintedAndInTheLogAndTheDocument(t *testing.T) {
	t.Parallel()
	path, err := program.Build(t.TempDir(), "-ldflags",
		"-X users-api/commands.version=1.2.3 -X users-api/commands.revision=abcdef0")
	program.Must(t, err)
	text, err := exec.Command(path, "--version").Output()
	if err != nil || string(text) != "users-api 1.2.3 (abcdef0)\n" {
		t.Errorf("--version prints %q, %v", text, err)
	}
	p := program.Start(t, path)
	first, _, _ := strings.Cut(p.Log(), "\n")
	if want := "version=1.2.3 revision=abcdef0"; !strings.Contains(first, want) {
		t.Errorf("%q is not in the first line: %s", want, first)
	}
	if document := p.Do(t, "GET", "/openapi.json", "").Body; !strings.Contains(document, `"version": "1.2.3"`) {
		t.Errorf("the OpenAPI document has not this version: %.100s", document)
	}
	done := program.RunCommand(t, t.TempDir(), nil, "--version")
	if done.Code != 0 || !regexp.MustCompile(`^users-api \S+ \(\S+\)\n$`).MatchString(done.Stdout) {
		t.Errorf("without the linker's help it prints %q", done.Stdout)
	}
}
