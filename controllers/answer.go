package controllers

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/gin-gonic/gin"
)

const (
	contentType = "application/json; charset=utf-8"
	problemType = "application/problem+json"
)

// send sends a whole body. It sets the length first, so that a client notices a cut response. net/http would set it for
// short bodies only.
func send(c *gin.Context, status int, contentType string, body []byte) error {
	c.Header("Content-Type", contentType)
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Status(status)
	_, err := c.Writer.Write(body)
	return err
}

// sendValue sends a value as JSON: not HTML-escaped, so that <, > and & come back as they were sent, and without a
// trailing newline. Gin's JSON escapes, and its PureJSON adds a newline.
func sendValue(c *gin.Context, status int, contentType string, value any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return send(c, status, contentType, bytes.TrimSuffix(body.Bytes(), []byte("\n")))
}
