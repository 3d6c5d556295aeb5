// Command tutorial is the users API as tutorials about Gin and GORM have it: gin.Default, the driver's default
// settings, AutoMigrate, one Create for each request, First for one user and Find for several.
//
// With DATABASE_URL it is on PostgreSQL, otherwise on a file of SQLite. The defaults of both make each commit durable.
package main

import (
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// User is a row of the table users.
type User struct {
	ID        uint      `json:"id" gorm:"primaryKey"`
	Name      string    `json:"name" binding:"required"`
	Email     string    `json:"email" binding:"required" gorm:"unique"`
	CreatedAt time.Time `json:"created_at"`
}

var db *gorm.DB

func main() {
	var err error
	dialect := sqlite.Open(filepath.Join(os.Getenv("DATA_DIR"), "users.db"))
	if url := os.Getenv("DATABASE_URL"); url != "" {
		dialect = postgres.Open(url)
	}
	db, err = gorm.Open(dialect, &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&User{}); err != nil {
		log.Fatal(err)
	}

	router := gin.Default()
	router.GET("/health", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
	router.GET("/api/users", listUsers)
	router.GET("/api/users/:id", getUser)
	router.POST("/api/users", createUser)
	router.PATCH("/api/users/:id", updateUser)
	router.DELETE("/api/users/:id", deleteUser)
	log.Fatal(router.Run("127.0.0.1:" + os.Getenv("PORT")))
}

func listUsers(c *gin.Context) {
	var users []User
	order := "id"
	if c.Query("order") == "desc" {
		order = "id desc"
	}
	query := db.Order(order)
	if email := c.Query("email"); email != "" {
		query = query.Where("email = ?", email)
	}
	if after := c.Query("after"); after != "" {
		query = query.Where("id > ?", after)
	}
	if limit, err := strconv.Atoi(c.Query("limit")); err == nil {
		query = query.Limit(limit)
	}
	if err := query.Find(&users).Error; err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusOK, users)
}

func getUser(c *gin.Context) {
	var user User
	if err := db.First(&user, c.Param("id")).Error; err != nil {
		c.JSON(http.StatusNotFound, gin.H{"error": "User not found"})
		return
	}
	c.JSON(http.StatusOK, user)
}

func createUser(c *gin.Context) {
	var user User
	if err := c.ShouldBindJSON(&user); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": "Name and email are required"})
		return
	}
	if err := db.Create(&user).Error; err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusCreated, gin.H{"id": user.ID, "name": user.Name, "email": user.Email})
}

func updateUser(c *gin.Context) {
	var user User
	if err := db.First(&user, c.Param("id")).Error; err != nil {
		c.JSON(http.StatusNotFound, gin.H{"error": "User not found"})
		return
	}
	if err := c.ShouldBindJSON(&user); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	if err := db.Save(&user).Error; err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusOK, user)
}

func deleteUser(c *gin.Context) {
	result := db.Delete(&User{}, "id = ?", c.Param("id"))
	if result.Error != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": result.Error.Error()})
		return
	}
	if result.RowsAffected == 0 {
		c.JSON(http.StatusNotFound, gin.H{"error": "User not found"})
		return
	}
	c.Status(http.StatusNoContent)
}
