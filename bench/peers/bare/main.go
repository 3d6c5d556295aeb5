// Command bare is what a Go server can reach that stores nothing and looks nothing up: net/http alone, or Gin alone
// when it is started with the argument gin.
//
// Reads are answered with the file body.json, whatever was asked for. Gin also binds creations, and answers them, and says 304
// to a client that names what it has.
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/gin-gonic/gin"
)

func main() {
	const contentType = "application/json; charset=utf-8"
	body, err := os.ReadFile("body.json")
	if err != nil {
		log.Fatal(err)
	}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
	if len(os.Args) > 1 {
		gin.SetMode(gin.ReleaseMode)
		router := gin.New()
		for _, path := range []string{"/health", "/api/users", "/api/users/:id"} {
			router.GET(path, func(c *gin.Context) {
				if c.GetHeader("If-None-Match") != "" {
					c.Status(http.StatusNotModified)
					return
				}
				c.Data(http.StatusOK, contentType, body)
			})
		}
		router.POST("/api/users", createUser)
		handler = router
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handler))
}

func createUser(c *gin.Context) {
	var user struct {
		Name  string `json:"name" binding:"required"`
		Email string `json:"email" binding:"required"`
	}
	if err := c.ShouldBindJSON(&user); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusCreated, gin.H{"id": 1, "name": user.Name, "email": user.Email})
}
