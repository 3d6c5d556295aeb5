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

//go:embed page docs openapi.yaml
var embedded embed.FS

// assetsMark stands in the HTML for the path of the scripts and styles.
const assetsMark = "ASSETS"

// Files returns what answers GET and HEAD, by path. version is the program's, for the document.
func Files(version string) (map[string]http.Handler, error) {
	document, err := document(version)
	if err != nil {
		return nil, err
	}
	texts, err := readAll("page", "docs")
	if err != nil {
		return nil, err
	}
	assets := "assets/" + hash(texts)
	files := map[string]http.Handler{"/openapi.json": newFile("openapi.json", document, nil)}
	for name, text := range texts {
		if name == "page/index.html" || name == "docs/index.html" {
			continue
		}
		files["/"+assets+"/"+strings.TrimSuffix(path.Base(name), ".gz")] = newFile(name, text, map[string]string{
			"Cache-Control": "public, max-age=31536000, immutable", // another content has another path
		})
	}
	files["/"] = newPage(strings.ReplaceAll(texts["page/index.html"], assetsMark, assets), pagePolicy)
	files["/docs"] = newPage(strings.ReplaceAll(texts["docs/index.html"], assetsMark, assets), docsPolicy)
	return files, nil
}

// newPage returns what answers with HTML, and with what a browser may do while it shows it.
func newPage(html, policy string) http.Handler {
	return newFile("index.html", html, map[string]string{
		"Content-Security-Policy":    policy,
		"Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy":            "no-referrer",
	})
}

// readAll returns the content of each file in some directories, by its name.
func readAll(directories ...string) (map[string]string, error) {
	texts := map[string]string{}
	for _, directory := range directories {
		names, err := fs.Glob(embedded, directory+"/*")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := embedded.ReadFile(name)
			if err != nil {
				return nil, err
			}
			texts[name] = string(text)
		}
	}
	return texts, nil
}
