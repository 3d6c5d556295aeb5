package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// keptPrivate is the Cache-Control of an answer that only who asked for it may keep, and must ask again for each time.
const keptPrivate = "private, no-cache"

// KeepPrivate keeps the answer to a request out of caches that others use, and says which headers of the request it
// depends on.
func KeepPrivate(c *gin.Context, vary string) {
	c.Header("Cache-Control", keptPrivate)
	c.Writer.Header().Add("Vary", vary)
}

// revalidate lets a cache keep an answer when it asks each time whether it still holds.
func revalidate(c *gin.Context) {
	if c.Writer.Header().Get("Cache-Control") != keptPrivate {
		c.Header("Cache-Control", "no-cache")
	}
}

// entityTag returns the strong entity tag of a user: made from exactly the bytes of its answer.
func entityTag(user []byte) string {
	sum := sha256.Sum256(user)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// notModified sends the entity tag of what was asked for, and answers 304 when the client has that already (RFC
// 9110, section 13.1.2). The comparison is weak: bytes that mean the same need not be sent again.
func notModified(c *gin.Context, tag string) bool {
	c.Header("ETag", tag)
	for candidate := range elements(c.Request.Header.Values("If-None-Match")) {
		if strings.TrimPrefix(candidate, "W/") == tag || candidate == "*" {
			c.Status(http.StatusNotModified)
			return true
		}
	}
	return false
}

// wantsProblem reports whether a client asks for errors as problems (RFC 9457). */* does not: it is what clients send
// that know nothing of problems.
func wantsProblem(c *gin.Context) bool {
	for media := range elements(c.Request.Header.Values("Accept")) {
		kind, parameters, err := mime.ParseMediaType(media)
		if err != nil || kind != problemType {
			continue
		}
		quality, given := parameters["q"]
		if value, err := strconv.ParseFloat(quality, 64); !given || err == nil && value > 0 {
			return true
		}
	}
	return false
}

// elements yields what stands between the commas of header lines, which count as one list. A comma in quotes is a
// part of its element.
func elements(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			start, quoted := 0, false
			for at := 0; at <= len(line); at++ {
				if at < len(line) && line[at] == '"' {
					quoted = !quoted
				}
				if at < len(line) && (line[at] != ',' || quoted) {
					continue
				}
				if element := strings.TrimSpace(line[start:at]); element != "" && !yield(element) {
					return
				}
				start = at + 1
			}
		}
	}
}
