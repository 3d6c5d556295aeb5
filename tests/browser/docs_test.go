//go:build browser

package browser

import "testing"

func TestTheReaderOfTheDocumentTriesACall(t *testing.T) {
	p := start(t)
	ada := visit(t, p, "/docs")
	ada.reads("List users")
	ada.reads("/api/users/{id}")
	ada.clicks("button", "GET /health Ask whether the service is alive")
	ada.reads(`"status": "ok"`) // the example: before it is shown, Swagger UI does not find the operation
	ada.clicks("button", "Execute")
	ada.reads("x-request-id: ") // only an answer has it
}
