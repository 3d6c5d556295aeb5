package controllers

import (
	"bytes"
	"encoding/json"

	"github.com/gin-gonic/gin"
)

const contentType = "application/json; charset=utf-8"

// answer sends a value as JSON: not HTML-escaped, so that <, > and & come back as they were sent, and without a
// newline at the end. Gin's JSON does the former, its PureJSON the latter.
func answer(c *gin.Context, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // every value here is a struct of text and numbers
	}
	c.Data(status, contentType, bytes.TrimSuffix(body.Bytes(), []byte("\n")))
}
