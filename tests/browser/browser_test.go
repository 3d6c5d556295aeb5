//go:build browser

// Package browser proves the page as a person uses it: in Debian's Chromium, against the built program, finding
// everything by its role and its name as a screen reader does.
//
//	apt-get install chromium nginx-light
//	AXE=node_modules/axe-core/axe.min.js go test -tags browser ./tests/browser
package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"users-api/tests/program"
)

var (
	binary   string          // the built program
	chromium context.Context // one browser for all tests; each person has a session of their own
	pictures = flag.Bool("pictures", false, "write docs/page.png and docs/page-dark.png")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := exec.LookPath("chromium"); err != nil {
		fmt.Println("skipped: there is no chromium; apt-get install chromium")
		return 0
	}
	directory, err := os.MkdirTemp("", "users-api")
	if err == nil {
		defer os.RemoveAll(directory) //nolint:errcheck // the system cleans up as well
		binary, err = program.Build(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("lang", "en-GB"))...)
	defer end() // and wait until the process is gone
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil { // starts it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	chromium = browser
	return m.Run()
}

// visitWith starts the program with users, and opens its page.
func visitWith(t *testing.T, names ...string) (*person, *program.Program) {
	t.Helper()
	p := start(t)
	return visitAmong(t, p, names...), p
}

// visitAmong creates users, and opens the page once they are there.
func visitAmong(t *testing.T, p *program.Program, names ...string) *person {
	t.Helper()
	for _, name := range names {
		p.Create(t, name, strings.ToLower(name)+"@example.org")
	}
	ada := visit(t, p, "/")
	if len(names) == 0 {
		ada.reads("No users yet")
	}
	slices.Reverse(names) // the newest comes first
	ada.lists(names...)
	return ada
}

func start(t *testing.T, settings ...string) *program.Program {
	t.Helper()
	return program.Start(t, binary, settings...)
}
