// Package web holds what the service shows to a browser: the page for people, the OpenAPI document for programs, and
// the reader of that document. Everything is embedded, so that the program stays one file, and nothing is built: what
// lies in page/ is what a browser gets.
//
// The scripts and styles of a page are served under a path that has the hash of all of them in it, and may be kept for
// ever. They name each other relatively, so that the hash stands in the HTML alone.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed page docs
var embedded embed.FS

// assetsMark stands in the HTML for the path of the scripts and styles.
const assetsMark = "ASSETS"

// Files returns what answers GET and HEAD, by path. version is the program's, for the document.
func Files(version string) map[string]http.Handler {
	texts := readAll("page", "docs")
	tag := hash(texts)
	assets := "assets/" + tag
	page := func(name, policy string) http.Handler {
		html := strings.ReplaceAll(texts[name], assetsMark, assets)
		return newFile(name, tag, func() string { return html }, map[string]string{
			"Content-Security-Policy":    policy,
			"Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy":            "no-referrer",
		})
	}
	files := map[string]http.Handler{
		"/":             page("page/index.html", pagePolicy),
		"/docs":         page("docs/index.html", docsPolicy),
		"/openapi.json": newDocument(version),
	}
	for name, text := range texts {
		if path.Ext(name) != ".html" {
			files["/"+assets+"/"+strings.TrimSuffix(path.Base(name), ".gz")] = newAsset(name, tag, text)
		}
	}
	return files
}

// newAsset returns what answers with a file whose path changes with its content.
func newAsset(name, tag, text string) http.Handler {
	return newFile(name, tag, func() string { return text }, map[string]string{
		"Cache-Control": "public, max-age=31536000, immutable",
	})
}

// readAll returns the content of each file in some directories, by its name. Only a build that went wrong makes it
// panic: what is embedded cannot fail later.
func readAll(directories ...string) map[string]string {
	texts := map[string]string{}
	for _, directory := range directories {
		names, err := fs.Glob(embedded, directory+"/*")
		if err != nil {
			panic(err)
		}
		for _, name := range names {
			text, err := embedded.ReadFile(name)
			if err != nil {
				panic(err)
			}
			texts[name] = string(text)
		}
	}
	return texts
}
