package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// file serves one file. It is stored compressed, because nearly every client accepts gzip. For other clients it is
// decompressed while it is sent.
type file struct {
	// compressed does its work on first use: compressing all files would add 34 ms and 25 MB to every startup.
	compressed func() string
	tag        string // changes with the content; without quotes
	headers    map[string]string
}

// contentTypes replaces the system's own table, which differs from machine to machine.
var contentTypes = map[string]string{
	"html": "text/html; charset=utf-8",
	"css":  "text/css; charset=utf-8",
	"js":   "text/javascript; charset=utf-8",
	"svg":  "image/svg+xml",
	"json": "application/json; charset=utf-8",
	"txt":  "text/plain; charset=utf-8",
}

// newFile returns a handler that serves a content. The tag must change whenever the content does. A name that ends in
// .gz means that the content is already compressed.
func newFile(name, tag string, content func() string, headers map[string]string) *file {
	name, isCompressed := strings.CutSuffix(name, ".gz")
	if !isCompressed {
		plain := content
		content = sync.OnceValue(func() string { return compress(plain()) })
	}
	all := map[string]string{
		"Cache-Control": "no-cache", // caches may store it, but must revalidate it each time
		"Content-Type":  contentTypes[name[strings.LastIndexByte(name, '.')+1:]],
		"Vary":          "Accept-Encoding",
	}
	maps.Copy(all, headers)
	return &file{compressed: content, tag: tag, headers: all}
}

// ServeHTTP responds with 200, or with 304 if the client already has the file.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag, packed := `"`+f.tag+`"`, takesGzip(r)
	if packed {
		tag = `"` + f.tag + `-gzip"` // different bytes need a different strong tag (RFC 9110, section 8.8.3)
	}
	for name, value := range f.headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("ETag", tag)
	if has(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.send(w, r.Method, packed)
}

// send sends the content. It ignores errors: they mean that the client is gone.
func (f *file) send(w http.ResponseWriter, method string, packed bool) {
	content := f.compressed()
	if packed {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	}
	w.WriteHeader(http.StatusOK)
	switch {
	case method == http.MethodHead:
	case packed:
		_, _ = io.WriteString(w, content)
	default:
		if unpacked, err := gzip.NewReader(strings.NewReader(content)); err == nil {
			_, _ = io.Copy(w, unpacked)
		}
	}
}

// has reports whether a client already has a file.
func has(r *http.Request, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}

// takesGzip reports whether a client accepts gzip (RFC 9110, section 12.5.3).
func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, err := mime.ParseMediaType("x/" + strings.TrimSpace(coding))
		if err != nil || name != "x/gzip" && name != "x/*" {
			continue
		}
		quality, given := parameters["q"]
		value, err := strconv.ParseFloat(quality, 64)
		return !given || err == nil && value > 0
	}
	return false
}

func compress(content string) string {
	var compressed strings.Builder
	writer, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // fails only for an unknown level
	_, _ = io.WriteString(writer, content)                              // a builder never fails
	_ = writer.Close()
	return compressed.String()
}

// hash returns a value that changes whenever a name or a content does.
func hash(texts map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		_, _ = io.WriteString(sum, name+"\x00"+texts[name]+"\x00")
	}
	return hex.EncodeToString(sum.Sum(nil))[:20]
}
