//go:build browser

package browser

import (
	"testing"
)

func TestTheReaderOfTheDocumentTriesACall(t *testing.T) {
	p := start(t)
	ada := visit(t, p, "/docs")
	ada.reads("List users", "/api/users/{id}")
	ada.expect("locks, although no key is needed",
		evaluate[int](ada, `document.querySelectorAll('.authorization__btn, .authorize').length`), 0)
	triesACall(ada)
	ada.expect("rows of HEAD", evaluate[int](ada, `document.querySelectorAll('.opblock-head').length`), 0)
	for scheme, isDark := range map[string]bool{"dark": true, "light": false} {
		ada.look(scheme, 1120, 640)
		ada.until(scheme, func() bool {
			return evaluate[bool](ada, `parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4)) < 60
				&& getComputedStyle(document.documentElement).backgroundColor.startsWith('rgb(')`) == isDark
		})
	}
	ada.clicks("link", "← Users").reads("No users yet")
}

// triesACall has the reader of the document send a request.
func triesACall(ada *person) {
	ada.clicks("button", "GET /health Ask whether the service is alive")
	// The example: before it is shown, Swagger UI does not find the operation.
	ada.reads(`"status": "ok"`)
	ada.clicks("button", "Execute").reads("x-request-id: ") // only an answer has it
}

func TestTheReaderOfTheDocumentTriesACallBelowAPathPrefix(t *testing.T) {
	triesACall(visit(t, start(t).BehindNginx(t), "/docs"))
}

func TestTheReaderOfTheDocumentShowsAddedFields(t *testing.T) {
	ada := visit(t, start(t, "USER_FIELDS=phone,"+oddNames, "API_KEY="+writeKey), "/docs")
	ada.sees("button", "Authorize")
	for operation, says := range map[string][]string{ // after its example, Swagger UI shows all of an operation
		"listUsers":  {`"null": null`, "Users with exactly this phone", "Users with exactly this constructor"},
		"createUser": {`"children": null`},
	} {
		ada.reads("List users")
		evaluate[bool](ada, `document.querySelector('#operations-users-`+operation+` .opblock-summary-control').click() ?? true`)
		for _, text := range says {
			ada.reads(text)
		}
	}
	ada.expect("the errors of the document",
		evaluate[string](ada, `document.querySelector('.errors-wrapper')?.innerText ?? ''`), "")
}
