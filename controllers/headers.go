package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"users-api/headers"
)

// keptPrivate is the Cache-Control of what only the requesting client may keep, and must revalidate each time.
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
	for candidate := range headers.Elements(c.Request.Header.Values("If-None-Match")) {
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
	accepts, _ := headers.Accepts(c.Request.Header.Values("Accept"), problemType)
	return accepts
}
