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

// keptPrivate is the Cache-Control of a response that only the requesting client may keep and must revalidate each
// time.
const keptPrivate = "private, no-cache"

// KeepPrivate keeps a response out of shared caches, and declares which request headers it depends on.
func KeepPrivate(c *gin.Context, vary string) {
	c.Header("Cache-Control", keptPrivate)
	c.Writer.Header().Add("Vary", vary)
}

// revalidate lets a cache keep a response if it revalidates it each time.
func revalidate(c *gin.Context) {
	if c.Writer.Header().Get("Cache-Control") != keptPrivate {
		c.Header("Cache-Control", "no-cache")
	}
}

// entityTag returns the strong entity tag of a user, made from exactly the bytes of its response.
func entityTag(user []byte) string {
	sum := sha256.Sum256(user)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// notModified sets the entity tag of what was requested, and responds with 304 if the client already has it (RFC 9110,
// section 13.1.2). The comparison is weak: bytes with the same meaning need not be sent again.
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

// wantsProblem reports whether a client asks for errors as problems (RFC 9457). */* does not count: clients that do not
// know problems send it.
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

// elements yields the elements between the commas of header lines, which count as one list. A comma in quotes is part
// of its element.
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
