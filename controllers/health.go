package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// health is the response of a running service.
type health struct {
	Status string `json:"status"`
}

// Health handles GET and HEAD /health. It does not ask storage: a lock or a long commit is no reason for a restart.
func Health(c *gin.Context) error { return sendValue(c, http.StatusOK, contentType, health{"ok"}) }
