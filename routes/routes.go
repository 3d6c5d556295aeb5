// Package routes is the whole API on one screen: every middleware in the order in which it runs, and every path.
package routes

import (
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

// New returns the handler of all requests.
func New(users *models.Users, logger *slog.Logger) http.Handler {
	gin.SetMode(gin.ReleaseMode) // debug mode prints to stdout
	engine := gin.New()
	engine.HandleMethodNotAllowed = true // 405 and Allow, where Gin would answer 404
	engine.RedirectTrailingSlash = false // another path is another resource: 404
	_ = engine.SetTrustedProxies(nil)    // no header of a proxy is believed
	engine.NoRoute(refuseAll(controllers.ErrNoPath))
	engine.NoMethod(refuseAll(controllers.ErrNoMethod))
	use(engine, logger)

	api := controllers.NewUsers(users)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		engine.Handle(method, "/health", controllers.Health)
		engine.Handle(method, "/api/users", controllers.Handle(api.List))
	}
	engine.POST("/api/users", controllers.Handle(api.Create))
	engine.DELETE("/api/users/:id", controllers.Handle(api.Delete))
	// Around Gin and not within: its writer hides what net/http needs to answer 413 before the rest has arrived.
	return http.MaxBytesHandler(engine, maxBody)
}

// use puts every middleware around what comes after, the first outermost.
func use(engine *gin.Engine, logger *slog.Logger) {
	engine.Use(log(logger), recoverPanic(logger), secure(), hurryBody())
}
