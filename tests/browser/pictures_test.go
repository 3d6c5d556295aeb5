//go:build browser

package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"users-api/tests/program"
)

// people creates users who look like some.
func people(t *testing.T, p *program.Program) {
	t.Helper()
	for _, name := range []string{"Ada Lovelace", "Émilie du Châtelet", "Никола Тесла"} {
		p.Create(t, name, strings.ToLower(strings.Fields(name)[0])+"@example.org")
	}
}

func TestPictures(t *testing.T) {
	if !*pictures {
		t.Skip("-pictures writes the pictures of README")
	}
	p := start(t)
	for _, name := range strings.Split(strings.TrimSpace(picturedPeople), "\n") {
		p.Create(t, name, strings.ToLower(strings.ReplaceAll(name, " ", "."))+"@example.org")
	}
	ada := visit(t, p, "/")
	for scheme, path := range map[string]string{"light": "../../docs/page.png", "dark": "../../docs/page-dark.png"} {
		ada.look(scheme, 1120, 640)
		ada.open("/")
		ada.reads("12 users")
		picture, err := chromedp.Run(ada.ctx, chromedp.CaptureScreenshot())
		ada.must(err)
		ada.must(os.WriteFile(path, picture, 0o644))
	}
}

const picturedPeople = `
Tim Berners-Lee
Radia Perlman
Edsger Dijkstra
Barbara Liskov
Donald Knuth
Frances Allen
Dennis Ritchie
Margaret Hamilton
Alan Turing
Grace Hopper
Charles Babbage
Ada Lovelace
`
