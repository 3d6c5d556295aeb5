// Command gin answers from memory with nothing but Gin: the limit of what a Gin server can reach.
//
// Reads are answered with the file named by BODY, whatever was asked for. Nothing is stored, and nothing is looked up.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"
)

func main() {
	body, err := os.ReadFile(os.Getenv("BODY"))
	if err != nil {
		log.Fatal(err)
	}
	answer := func(c *gin.Context) { c.Data(http.StatusOK, "application/json; charset=utf-8", body) }
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/health", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
	router.GET("/api/users", answer)
	router.GET("/api/users/:id", answer)
	log.Fatal(router.Run("127.0.0.1:" + os.Getenv("PORT")))
}
