// Package web holds what the service shows in a browser: the page for people, the OpenAPI document for programs, and
// the viewer of that document. Everything is embedded, so that the program stays one file, and there is no build step:
// a browser gets the scripts and styles as they are, and the HTML with the fields of a user, written once at startup.
//
// The scripts and styles of a page are served under a path that contains the hash of all of them, so they can be cached
// forever. They refer to each other by relative paths, so that only the HTML contains the hash.
package web

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"users-api/models"
)

//go:embed page docs
var embedded embed.FS

// pagePolicy lets the page load its own files and talk to its own service, and nothing else. Trusted Types make the
// browser itself refuse to turn text into markup, and no policy makes an exception, so a user's name never becomes
// markup.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// docsPolicy also allows what Swagger UI needs: it sets style attributes, and its style sheet contains images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Files returns the handlers of GET and HEAD, by path. version is the program's, for the document. What is shown and
// described follows from the fields of a user; what can be undone, from how long changes are kept.
func Files(version string, fields models.Fields, keep time.Duration) map[string]http.Handler {
	texts, all := map[string]string{}, []string{}
	names, _ := fs.Glob(embedded, "*/*") // sorted
	for _, name := range names {
		text, _ := embedded.ReadFile(name) // what is embedded can be read
		texts[name], all = string(text), append(all, name, string(text))
	}
	tag := hash(all...)
	assets := "assets/" + tag
	files := map[string]http.Handler{
		"/":             newPage("page/index.html", texts, assets, fields, keep, pagePolicy),
		"/docs":         newPage("docs/index.html", texts, assets, fields, keep, docsPolicy),
		"/openapi.json": newDocument(version, fields),
	}
	for name, text := range texts {
		if path.Ext(name) != ".html" {
			asset := "/" + assets + "/" + strings.TrimSuffix(path.Base(name), ".gz")
			files[asset] = newFile(name, tag, func() string { return text }, map[string]string{
				"Cache-Control": "public, max-age=31536000, immutable", // its path changes with its content
			})
		}
	}
	return files
}

// newPage returns a handler that serves a page, with the path of its scripts and styles, the fields of a user, and how
// long changes are kept.
func newPage(name string, texts map[string]string, assets string, fields models.Fields, keep time.Duration, policy string,
) http.Handler {
	page := template.Must(template.New("web/" + name).Funcs(describing(fields)).Parse(texts[name]))
	settable, times := fields.Settable(), fields.Times()
	var text strings.Builder
	err := page.Execute(&text, struct {
		Assets             string
		Required, Optional []string // the names of those that people may change
		Times, Columns     []string // all that a list shows beside the name and the email
		Keep               int64    // how long changes are kept, in seconds
	}{assets, settable.RequiredNames(), settable.OptionalNames(), times,
		slices.Concat(settable.OptionalNames(), times), int64(keep.Seconds())})
	if err != nil {
		panic(err) // the templates are embedded and tested: the build is broken
	}
	html := text.String()
	return newFile("index.html", hash(html), func() string { return html }, map[string]string{
		"Content-Security-Policy":    policy,
		"Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy":            "no-referrer",
	})
}

// phone is in the names of fields whose values can be called.
var phone = regexp.MustCompile(`phone|telefon|(^|_)(tel|mobile?|handy|cell|fax)(_|$)`)

// describing returns what a template asks about a field or a time by its name: what people call it within a sentence ("job
// title" for job_title, "created" for created_at) and as a label, and how its values are shown, filtered and typed. Where
// there are no choices, that is the type of an input, too.
func describing(fields models.Fields) template.FuncMap {
	words := func(name string) string {
		if fields.IsTime(name) {
			name = strings.TrimSuffix(name, "_at")
		}
		return strings.ReplaceAll(name, "_", " ")
	}
	typeOf := func(name string) *models.Type { return fields.Find(name).Type }
	return template.FuncMap{
		"words": words,
		"label": func(name string) string { return strings.ToUpper(name[:1]) + words(name)[1:] },
		"kind": func(name string) string {
			switch {
			case fields.IsTime(name):
				return "time"
			case typeOf(name) != nil:
				return typeOf(name).Name
			case phone.MatchString(name):
				return "tel"
			}
			return "text"
		},
		"choices": func(name string) (choices []string) {
			if of := typeOf(name); of != nil {
				choices = of.Choices
			}
			return choices
		},
	}
}
