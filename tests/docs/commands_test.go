package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

var (
	shellBlock = regexp.MustCompile("(?ms)^ *```(?:sh|shell)\n(.*?)^ *```")
	example    = regexp.MustCompile(`(?m)^  (?:(?:[A-Z_]+=\S+ )*(?:docker|users-api) |[A-Z_]+=\$).*$`) // in a help text
)

// shownCommands returns what people paste: the blocks for a shell in each document, and the examples in the help of each command.
func shownCommands(t *testing.T) (shown map[string][]string) {
	t.Helper()
	shown = map[string][]string{}
	blocks := 0
	for _, path := range slices.Concat(glob(t, "../../*.md"), glob(t, "../../*/*.md"), glob(t, "../../docs/decisions/*.md")) {
		for _, block := range shellBlock.FindAllStringSubmatch(program.ReadFile(t, path), -1) {
			shown[path], blocks = append(shown[path], block[1]), blocks+1
		}
	}
	help := program.RunCommand(t, t.TempDir(), nil, "help").Stdout
	for _, command := range regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`).FindAllStringSubmatch(help, -1) {
		text := program.RunCommand(t, t.TempDir(), nil, "help", command[1]).Stdout
		shown["help "+command[1]] = example.FindAllString(text, -1)
	}
	if blocks < 40 || len(shown["help backup"]) < 2 || len(shown["help key"]) < 3 {
		t.Fatalf("%d blocks, and %q in help", blocks, shown)
	}
	return shown
}

// What is pasted has no remarks: an interactive zsh, which is what a Mac has, takes them as arguments.
func TestNoCommandHasARemarkOnItsLine(t *testing.T) {
	t.Parallel()
	for path, scripts := range shownCommands(t) {
		for _, script := range scripts {
			if remark := regexp.MustCompile(`(?m)(?:^|\s)#.*|\S {2,}\S.*`).FindString(script); remark != "" {
				t.Errorf("%s shows, in what people paste: %s", path, remark)
			}
		}
	}
}

// A backup gets its name once it is complete: one that fails must not empty the last good one. And what deletes is a dry run.
func TestWhatIsPastedKeepsUsersAndBackups(t *testing.T) {
	t.Parallel()
	toFile := regexp.MustCompile(`(?:backup -|pg_dump [^>\n]*) ?> ?(\S+)`)
	backups, deletions := 0, 0
	deleting := regexp.MustCompile(`.*(?:-X DELETE|on_missing=delete).*`)
	for path, scripts := range shownCommands(t) {
		text := strings.Join(scripts, "\n")
		for _, deletes := range deleting.FindAllString(text, -1) {
			if deletions++; !strings.Contains(deletes, "echo ask -X DELETE") && !strings.Contains(deletes, "dry_run=true") {
				t.Errorf("%s shows what deletes as it stands: %s", path, deletes)
			}
		}
		for _, script := range scripts {
			if !strings.Contains(script, `"method":"DELETE"`) { // in a batch, which another line sends
				continue
			}
			if deletions++; strings.Count(script, "/batch") != strings.Count(script, "echo ask -d") {
				t.Errorf("%s shows what deletes as it stands: %s", path, script)
			}
		}
		if strings.HasSuffix(path, ".md") {
			text = program.ReadFile(t, path) // what stands in a sentence, too
		}
		for _, match := range toFile.FindAllStringSubmatch(text, -1) {
			backups++
			name, isNew := strings.CutSuffix(match[1], ".new")
			if moves := regexp.MustCompile(`&&\s+mv ` + regexp.QuoteMeta(match[1]+" "+name)); !isNew || !moves.MatchString(text) {
				t.Errorf("%s shows a backup that empties the last one when it fails: %s", path, match[0])
			}
		}
	}
	if backups < 5 || deletions < 3 {
		t.Errorf("%d backups and %d deletions are shown", backups, deletions)
	}
}
