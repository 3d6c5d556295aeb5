// Package web holds what the service shows in a browser: the page for people, the OpenAPI document for programs, and
// the viewer of that document. Everything is embedded, so that the program stays one file, and there is no build step:
// a browser gets the files in page/ as they are.
//
// The scripts and styles of a page are served under a path that contains the hash of all of them, so they can be cached
// forever. They refer to each other by relative paths, so that only the HTML contains the hash.
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

// assetsMark is the placeholder in the HTML for the path of the scripts and styles.
const assetsMark = "ASSETS"

// Files returns the handlers of GET and HEAD, by path. version is the program's, for the document.
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

// newAsset returns a handler that serves a file whose path changes with its content.
func newAsset(name, tag, text string) http.Handler {
	return newFile(name, tag, func() string { return text }, map[string]string{
		"Cache-Control": "public, max-age=31536000, immutable",
	})
}

// readAll returns the content of each file in some directories, by name. Only a broken build makes it panic: reading an
// embedded file cannot fail later.
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
