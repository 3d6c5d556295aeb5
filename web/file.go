package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// file serves one file, compressed to nearly every client, and plain to the others.
type file struct {
	// Each does its work on first use: compressing all files would add 34 ms and 25 MB to every startup.
	plain, packed func() string
	tag           string // changes with the content; without quotes
	headers       map[string]string
}

// contentTypes replaces the system's own table, which differs from machine to machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json; charset=utf-8",
	".txt":  "text/plain; charset=utf-8",
}

// newFile returns a handler that serves a content. The tag must change whenever the content does. A name that ends in
// .gz means that the content is already compressed.
func newFile(name, tag string, content func() string, more map[string]string) *file {
	all := map[string]string{
		"Cache-Control": "no-cache", // caches may store it, but must revalidate it each time
		"Content-Type":  contentTypes[path.Ext(strings.TrimSuffix(name, ".gz"))],
		"Vary":          "Accept-Encoding",
	}
	maps.Copy(all, more)
	stored := sync.OnceValue(content)
	if path.Ext(name) == ".gz" {
		return &file{sync.OnceValue(func() string { return decompress(stored()) }), stored, tag, all}
	}
	return &file{stored, sync.OnceValue(func() string { return compress(stored()) }), tag, all}
}

// ServeHTTP responds with the file, with a range of it, or with 304 if the client already has it.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, value := range f.headers {
		header.Set(name, value)
	}
	content, tag := f.plain, f.tag
	// Browsers list gzip without a quality. A client that refuses a coding ("gzip;q=0") gets the plain file.
	codings := strings.Join(r.Header.Values("Accept-Encoding"), ",")
	if strings.Contains(codings, "gzip") && !strings.Contains(codings, "q=0") {
		content, tag = f.packed, f.tag+"-gzip" // different bytes need a different strong tag (RFC 9110, section 8.8.3)
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", strconv.Itoa(len(content()))) // ServeContent leaves it out of encoded content
	}
	header.Set("ETag", `"`+tag+`"`)
	r.Header.Del("If-Match") // no client changes a file; and ServeContent would send that length with its 412
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content()))
}

func compress(content string) string {
	var compressed strings.Builder
	writer, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // fails only for an unknown level
	_, _ = io.WriteString(writer, content)                              // a builder never fails
	_ = writer.Close()
	return compressed.String()
}

// decompress undoes compress. What is embedded is tested, so only a broken build makes it panic.
func decompress(content string) string {
	var plain strings.Builder
	reader, err := gzip.NewReader(strings.NewReader(content))
	if err == nil {
		_, err = io.Copy(&plain, reader)
	}
	if err != nil {
		panic(err)
	}
	return plain.String()
}

// hash returns a value that changes whenever a text does.
func hash(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		_, _ = io.WriteString(sum, text+"\x00")
	}
	return hex.EncodeToString(sum.Sum(nil))[:20]
}
