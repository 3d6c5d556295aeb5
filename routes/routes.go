// Package routes shows the whole API on one screen: every middleware in the order in which it runs, and every path. It
// also limits how long a client may keep a connection busy, and what requests may hold.
package routes

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/database"
	"users-api/scim"
	"users-api/web"
)

// Service is what is served, who may use it, and the metrics and log for its operators.
type Service struct {
	Users   *database.Users
	Access  Access
	Metrics *Metrics
	Logger  *slog.Logger
	Version string // the program's, for the OpenAPI document

	ImportMax   int64         // the largest file that can be imported, in bytes
	ChangesKeep time.Duration // how long what was written is kept on record, and can be undone
}

// handler returns the handler of all requests. The limits on bodies wrap Gin instead of running inside it, because
// Gin's writer hides what net/http needs to respond with 413 before the rest has arrived. Clients that wait for changes
// do so until the service is ending.
func (s Service) handler(ending context.Context, l limits) http.Handler {
	all := l.paced(s.routes(ending, l))
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.URL.Path, controllers.SCIMRoot) { // a client may have its address with a slash at its end
			request.URL.Path = strings.ReplaceAll(request.URL.Path, "//", "/")
		}
		most := int64(maxBody)
		switch request.URL.Path {
		case csvPath, ndjsonPath:
			most = s.ImportMax
		case batchPath:
			most = maxBatchBody
		}
		if request.ContentLength == 0 { // most requests, which need no copy that limits their body
			all.ServeHTTP(w, request)
		} else {
			http.MaxBytesHandler(all, most).ServeHTTP(w, request)
		}
	})
}

func (s Service) routes(ending context.Context, l limits) *gin.Engine {
	bodies := newBodies(l)
	admit, admitBatch := bodies.admit(bodies.large, bodies.large, smallBody), bodies.admit(bodies.batches, bodies.readBatches, 0)
	engine := s.engine(bodies)
	api := controllers.NewAPI(s.Users, s.Logger, ending)
	provisioning := scim.NewAPI(s.Users, s.Users.Fields())
	s.Metrics.gauge("users_api_changes_followers", "Clients that wait for changes.", api.Waiting)
	reads, handle := []string{http.MethodGet, http.MethodHead}, controllers.Handle
	engine.NoRoute(provisioning.Check, func(c *gin.Context) { controllers.Refuse(c, controllers.ErrNoPath) })
	noMethod := func(c *gin.Context) {
		switch c.Request.URL.Path { // Gin adds those of a user whose id were "batch" or "deleted"
		case batchPath:
			c.Header("Allow", http.MethodPost)
		case deletedPath:
			c.Header("Allow", "GET, HEAD")
		}
		controllers.Refuse(c, controllers.ErrNoMethod)
	}
	engine.NoMethod(provisioning.Check, noMethod)

	recorded := func(c *gin.Context) {
		if s.ChangesKeep == 0 {
			controllers.Refuse(c, controllers.ErrNoChanges)
		}
	}

	engine.Match(reads, "/health", handle(controllers.Health))
	engine.Match(reads, "/api/me", handle(controllers.Me))
	engine.Match(reads, "/api/users", handle(api.List))
	engine.POST("/api/users", admit, handle(api.Create))
	engine.POST(batchPath, admitBatch, handle(api.Batch(http.MaxBytesHandler(engine, maxBody), s.Access.identity())))
	engine.Match(reads, deletedPath, recorded, handle(api.Deleted))
	one := engine.Group("/api/users/:id", func(c *gin.Context) {
		if path := c.Request.URL.Path; path == batchPath || path == deletedPath {
			noMethod(c)
		}
	})
	one.Match(reads, "", handle(api.Get))
	one.PATCH("", admit, handle(api.Patch))
	one.PUT("", admit, handle(api.Put))
	one.DELETE("", handle(api.Delete))
	one.Match(reads, "/changes", recorded, handle(api.History))
	one.DELETE("/changes", recorded, handle(api.Erase))
	one.POST("/restore", recorded, admit, handle(api.Restore))
	engine.Match(reads, "/api/changes", recorded, handle(api.Changes))
	engine.Match(reads, csvPath, handle(api.ExportCSV))
	engine.POST(csvPath, bodies.admitFile, handle(api.ImportCSV))
	engine.Match(reads, ndjsonPath, handle(api.ExportNDJSON))
	engine.POST(ndjsonPath, bodies.admitFile, handle(api.ImportNDJSON))

	group := engine.Group(controllers.SCIMRoot, provisioning.Check)
	group.Match(reads, "/Users", handle(provisioning.List))
	group.POST("/Users", admit, handle(provisioning.Create))
	group.Match(reads, "/Users/:id", handle(provisioning.Get))
	group.PUT("/Users/:id", admit, handle(provisioning.Put))
	group.PATCH("/Users/:id", admit, handle(provisioning.Patch))
	group.DELETE("/Users/:id", handle(api.Delete))
	group.Match(reads, "/Groups", handle(provisioning.Groups))
	for _, path := range []string{"ServiceProviderConfig", "ResourceTypes", "ResourceTypes/:id", "Schemas", "Schemas/:id"} {
		group.Match(reads, "/"+path, handle(provisioning.Describe))
	}

	for path, file := range web.Files(s.Version, s.Users.Fields(), s.ChangesKeep) {
		engine.Match(reads, path, gin.WrapH(file))
	}
	return engine
}

// The paths that others name, too. A batch may be larger than other bodies, and a file has no limit on its total time
// either.
const (
	batchPath   = "/api/users/batch"
	deletedPath = "/api/users/deleted"
	csvPath     = "/api/users.csv"
	ndjsonPath  = "/api/users.ndjson"
)

// engine returns Gin with the middleware of all requests, outermost first, and without any path.
func (s Service) engine(bodies *bodies) *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // debug mode prints to stdout
	engine := gin.New()
	engine.HandleMethodNotAllowed = true // 405 and Allow instead of 404
	engine.RedirectTrailingSlash = false // another path is another resource: 404
	_ = engine.SetTrustedProxies(nil)    // trust no headers of a proxy
	engine.Use(s.observe, s.recoverPanic, bodies.receive, secure, ignoreUnits)
	if len(s.Access.Hosts) > 0 {
		engine.Use(s.Access.checkHost)
	}
	if s.Access.Keys != nil {
		engine.Use(s.Access.checkKey)
	}
	engine.Use(nameAuthor)
	return engine
}

// ignoreUnits leaves out a Range in another unit than bytes (RFC 9110, section 14.2): [http.ServeContent] would refuse it.
func ignoreUnits(c *gin.Context) {
	if !strings.HasPrefix(c.Request.Header.Get("Range"), "bytes=") {
		c.Request.Header.Del("Range")
	}
}
