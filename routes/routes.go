// Package routes shows the whole API on one screen: every middleware in the order in which it runs, and every path. It
// also limits how long a client may keep a connection busy, and what requests may hold.
package routes

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
	"users-api/web"
)

// Service is what is served, who may use it, and the metrics and log for its operators.
type Service struct {
	Users   *models.Users
	Fields  models.Fields
	Access  Access
	Metrics *Metrics
	Logger  *slog.Logger
	Version string // the program's, for the OpenAPI document
	// ImportMax is the largest file that can be imported, in bytes.
	ImportMax int64
}

// handler returns the handler of all requests. The limits on bodies wrap Gin instead of running inside it, because
// Gin's writer hides what net/http needs to respond with 413 before the rest has arrived. Clients that wait for changes do
// so until the service is ending.
func (s Service) handler(ending context.Context, l limits) http.Handler {
	engine := s.routes(ending, l)
	bodies, imports := http.MaxBytesHandler(engine, maxBody), http.MaxBytesHandler(engine, l.importBytes)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case request.ContentLength == 0:
			engine.ServeHTTP(w, request)
		case bringsFile(request):
			imports.ServeHTTP(w, request)
		default:
			bodies.ServeHTTP(w, request)
		}
	})
}

func (s Service) routes(ending context.Context, l limits) *gin.Engine {
	engine := s.engine(l)
	api := controllers.NewAPI(s.Users, s.Fields, s.Logger)
	changes := controllers.NewChanges(ending, s.Users, s.Fields)
	scim := controllers.NewSCIM(s.Users, s.Fields)
	engine.Use(scim.Check)
	s.Metrics.gauge("users_api_changes_followers", "Clients that wait for changes.", changes.Waiting)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		engine.Handle(method, "/health", controllers.Handle(controllers.Health))
		engine.Handle(method, "/api/users", controllers.Handle(api.List))
		engine.Handle(method, "/api/users/:id", controllers.Handle(api.Get))
		engine.Handle(method, "/api/changes", controllers.Handle(changes.Get))
		engine.Handle(method, csvPath, controllers.Handle(api.ExportCSV))
		engine.Handle(method, ndjsonPath, controllers.Handle(api.ExportNDJSON))
		engine.Handle(method, "/scim/v2/Users", controllers.Handle(scim.List))
		engine.Handle(method, "/scim/v2/Users/:id", controllers.Handle(scim.Get))
		engine.Handle(method, "/scim/v2/Groups", controllers.Handle(scim.Groups))
		for _, path := range []string{"ServiceProviderConfig", "ResourceTypes", "ResourceTypes/:id", "Schemas", "Schemas/:id"} {
			engine.Handle(method, "/scim/v2/"+path, controllers.Handle(scim.Describe))
		}
	}
	engine.POST("/api/users", controllers.Handle(api.Create))
	engine.POST(csvPath, controllers.Handle(api.ImportCSV))
	engine.POST(ndjsonPath, controllers.Handle(api.ImportNDJSON))
	engine.PATCH("/api/users/:id", controllers.Handle(api.Patch))
	engine.PUT("/api/users/:id", controllers.Handle(api.Put))
	engine.DELETE("/api/users/:id", controllers.Handle(api.Delete))
	engine.POST("/scim/v2/Users", controllers.Handle(scim.Create))
	engine.PUT("/scim/v2/Users/:id", controllers.Handle(scim.Put))
	engine.PATCH("/scim/v2/Users/:id", controllers.Handle(scim.Patch))
	engine.DELETE("/scim/v2/Users/:id", controllers.Handle(api.Delete))
	for path, file := range web.Files(s.Version, s.Fields) {
		engine.GET(path, gin.WrapH(file))
		engine.HEAD(path, gin.WrapH(file))
	}
	return engine
}

// The paths of files. A file sent to them may be large, and has no limit on its total time.
const (
	csvPath    = "/api/users.csv"
	ndjsonPath = "/api/users.ndjson"
)

func bringsFile(request *http.Request) bool {
	return request.Method == http.MethodPost && (request.URL.Path == csvPath || request.URL.Path == ndjsonPath)
}

// engine returns Gin with every middleware, outermost first, and without any path.
func (s Service) engine(l limits) *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // debug mode prints to stdout
	engine := gin.New()
	engine.HandleMethodNotAllowed = true // 405 and Allow instead of 404
	engine.RedirectTrailingSlash = false // another path is another resource: 404
	_ = engine.SetTrustedProxies(nil)    // trust no headers of a proxy
	bodies := newBodies(l)
	engine.Use(coalesce, s.observe, recoverPanic(s.Logger), bodies.receive, secure(), s.Access.checkHost,
		s.Access.checkKey, bodies.admit)
	engine.NoRoute(refuseAll(controllers.ErrNoPath))
	engine.NoMethod(refuseAll(controllers.ErrNoMethod))
	return engine
}
