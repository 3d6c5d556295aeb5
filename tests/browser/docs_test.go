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
	if heads := evaluate[int](ada, `document.querySelectorAll('.opblock-head').length`); heads > 0 {
		t.Errorf("there are %d rows of HEAD", heads)
	}
	for scheme, isDark := range map[string]bool{"dark": true, "light": false} {
		ada.look(scheme, 1120, 640)
		ada.until(scheme, func() bool {
			return evaluate[bool](ada, `parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4)) < 60
				&& getComputedStyle(document.documentElement).backgroundColor.startsWith('rgb(')`) == isDark
		})
	}
	ada.clicks("link", "← Users")
	ada.reads("No users yet")
}
