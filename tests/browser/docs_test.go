//go:build browser

package browser

import (
	"testing"
)

func TestTheReaderOfTheDocumentTriesACall(t *testing.T) {
	p := start(t)
	ada := visit(t, p, "/docs")
	ada.reads("List users")
	ada.reads("/api/users/{id}")
	ada.clicks("button", "GET /health Ask whether the service is alive")
	ada.clicks("button", "Execute")
	ada.reads(`"status": "ok"`)
}
