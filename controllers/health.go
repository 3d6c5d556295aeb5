package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// health is the answer of a service that lives.
type health struct {
	Status string `json:"status"`
}

// Health answers GET and HEAD /health. It asks nothing of storage: a lock or a long commit is no reason to be
// restarted.
func Health(c *gin.Context) error { return sendValue(c, http.StatusOK, contentType, health{"ok"}) }
