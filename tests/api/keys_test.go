package api

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// The keys of these tests. No log, answer or figure may have any of them.
const (
	fullKey  = "full-key-0123456789"
	otherKey = "other-key-987654321"
	readKey  = "read-key-abcdefghij"
)

// withKeys starts the program with keys that may do everything in a file, and one that may only read.
func withKeys(t *testing.T, keys string, settings ...string) *program.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, file, keys)
	return program.Serve(t, append([]string{"API_KEY_FILE=" + file, "API_READ_KEY=" + readKey}, settings...)...)
}

func TestEveryRouteAsksForAKeyThatMayDoWhatItDoes(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey+"\n")
	open := program.Serve(t)
	const body = `{"name":"A","email":"a@b"}`
	for _, route := range []struct {
		method, path string
		read, full   int
	}{
		{"POST", "/api/users", 403, 201},
		{"POST", program.NDJSON + "?dry_run=true&on_conflict=skip", 200, 200},
		{"POST", program.CSV, 403, 400},
		{"POST", program.CSV + "?dry_run=TRUE", 403, 400},
		{"POST", program.CSV + "?dry_run=true&x=%zz", 403, 400},
		{"POST", program.CSV + "?x;dry_run=true", 403, 400},
		{"GET", "/api/users", 200, 200},
		{"HEAD", "/api/users", 200, 200},
		{"GET", "/api/users?key=" + fullKey, 400, 400},
		{"GET", "/api/users/1", 200, 200},
		{"PATCH", "/api/users/1", 403, 200},
		{"PUT", "/api/users/1", 403, 200},
		{"DELETE", "/api/users/1", 403, 204},
		{"DELETE", "/api/users", 403, 405},
		{"GET", "/api/changes", 200, 200},
		{"GET", "/api/users/1/changes", 403, 200},
		{"DELETE", "/api/users/1/changes", 403, 204},
		{"GET", "/api/users/deleted", 403, 200},
		{"POST", "/api/users/9/restore", 403, 404},
		{"GET", "/api/nothing", 404, 404},
		{"DELETE", "/%61pi/users/9", 403, 404},
	} {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			statuses := map[string]int{"": 401, "wrong-key-0123456789": 401, readKey: route.read, fullKey: route.full}
			isOfChanges := strings.Contains(route.path, "changes") || strings.HasSuffix(route.path, "deleted")
			for key, status := range statuses {
				answer := p.Do(t, route.method, route.path, body, "X-API-Key: "+key)
				answer.Expect(t, status, "…")
				caches := map[bool]string{true: "no-store", false: "private, no-cache"}[isOfChanges && status == 200]
				program.ExpectHeader(t, answer, "Cache-Control", caches)
				program.ExpectHeader(t, answer, "Vary", "Authorization, X-API-Key")
				isChallenged := answer.Header.Get("WWW-Authenticate") != ""
				program.Expect(t, fmt.Sprint("whether a ", status, " has a challenge"), isChallenged, status == 401 || status == 403)
				program.Forbid(t, fmt.Sprint(answer.Header, answer.Body), fullKey, readKey)
				access := map[string]string{readKey: "read", fullKey: "full"}[key]
				program.ExpectHeader(t, answer, "X-API-Key-Access", access)
				if isChallenged && route.method == "GET" {
					expectProblem(t, p.Do(t, route.method, route.path, body, "X-API-Key: "+key, "Accept: "+problemType), answer)
				}
			}
			unasked := open.Do(t, route.method, route.path, body, "X-API-Key: "+fullKey)
			unasked.Expect(t, route.full, "…")
			program.ExpectHeader(t, unasked, "X-API-Key-Access", "")
			program.ExpectHeader(t, unasked, "Vary", "")
		})
	}
}

func TestAKeyIsTakenInEveryForm(t *testing.T) {
	t.Parallel()
	const (
		taken   = "Name and email are required" // it may create a user
		reads   = "This API key can only read"
		wrong   = "The API key is not valid"
		missing = "An API key is needed"
		first   = "The API key in Authorization is not valid; there is another one in X-API-Key"
		second  = "The API key in X-API-Key is not valid; there is another one in Authorization"
		bearer  = "Authorization: Bearer "
		named   = "X-API-Key: "
	)
	p := withKeys(t, fullKey+"\n"+otherKey)
	for headers, want := range map[string]string{
		bearer + fullKey: taken,
		"Authorization: BEARER   " + fullKey + "  ": taken,
		named + fullKey: taken,
		bearer + fullKey + "\r\n" + named + otherKey:      taken,
		"Authorization: Basic YTpi\r\n" + named + fullKey: taken, // a proxy's password beside it
		bearer + fullKey + "\r\n" + named + "x":           second,
		bearer + "x\r\n" + named + fullKey:                first,
		bearer + "x\r\n" + bearer + fullKey:               wrong,
		named + fullKey + "\r\n" + named + fullKey + "x":  wrong,
		named + fullKey + "0":                             wrong,
		named + strings.Repeat("k", 20_000):               wrong,
		named + readKey:                                   reads,
		bearer + readKey + "\r\n" + named + fullKey:       reads,
		bearer + fullKey + "\r\n" + named + readKey:       reads,
		"Authorization: " + fullKey:                       missing,
		named:                                             missing,
	} {
		conn := p.Dial(t)
		conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n%s\r\n\r\n", headers)
		program.Expect(t, fmt.Sprintf("the answer to %.100q", headers), conn.Answer().Body, program.ErrorBody(want))
	}
}

func TestAnOpenServiceThatOtherMachinesReachSaysSoOnce(t *testing.T) {
	t.Parallel()
	const warning = "level=WARN msg=\"anyone who can reach this port can read, change and delete all users\" help=\"set API_KEY"
	for settings, times := range map[string]int{
		"LISTEN_ADDRESS=": 1, "LISTEN_ADDRESS=0.0.0.0": 1, "LISTEN_ADDRESS=::1": 0, "LISTEN_ADDRESS=|API_KEY=" + fullKey: 0,
		"LISTEN_ADDRESS=|PUBLISH=3000": 1, "LISTEN_ADDRESS=|PUBLISH=[::]:3000": 1, // with compose
		"LISTEN_ADDRESS=|PUBLISH=127.0.0.2:8000-8010": 0, "LISTEN_ADDRESS=|PUBLISH=[::1]:3000": 0,
	} {
		p := program.Serve(t, strings.Split(settings, "|")...)
		p.Do(t, "GET", "/nothing", "", "X-Request-Id: the-last")
		p.WaitForLog(t, "request_id=the-last") // the warning comes before the first request
		got := []int{strings.Count(p.Log(), warning), strings.Count(p.Log(), "WARN")}
		program.Expect(t, "how often it warns with "+settings, got, []int{times, times})
	}
}

func TestNoKeyIsEverInTheLogOrAFigure(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey+"\n"+otherKey, "LOG_LEVEL=debug", "ADMIN_PORT=0")
	secrets := []string{fullKey, otherKey, readKey, "wrong-key-0123456789"}
	for _, key := range secrets {
		for _, header := range []string{"X-API-Key: ", "Authorization: Bearer ", "Authorization: Basic "} {
			p.Do(t, "POST", "/api/users", program.Body("A", key), header+key)
			p.Do(t, "GET", "/api/users/"+key+"?api_key="+key, "", header+key)
		}
	}
	said := ""
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		said += program.AskAdmin(t, p, path).Body
	}
	p.Stop(t) // every line is written
	program.Forbid(t, said+p.Log(), secrets...)
}

const (
	proxyKey = "proxy-key-0123456789"
	byProxy  = "X-API-Key: " + proxyKey
	bearer   = "Authorization: Bearer "
)

// withPeople starts the program behind a proxy: ada and the editors may write.
func withPeople(t *testing.T, settings ...string) *program.Program {
	t.Helper()
	path := t.TempDir() + "/keys"
	program.WriteFile(t, path, "front "+proxyKey+"\nold old-"+proxyKey+" 2020-01-01")
	settings = append(settings, "PERSON_WRITERS=ada, group:editors", "PROXY_KEY_FILE="+path)
	return withKeys(t, fullKey+"\nold "+otherKey+" 2020-01-01", settings...)
}

func TestAProxyWithItsOwnKeyNamesThePerson(t *testing.T) {
	t.Parallel()
	p := withPeople(t)
	const (
		ada      = `{"person":"ada","access":"full"}`
		bob      = `{"person":"bob","access":"read"}`
		nobody   = `{"error":"The proxy sent no person in Remote-User"}`
		wrong    = `{"error":"The API key is not valid"}`
		missing  = `{"error":"An API key is needed"}`
		program1 = `{"key":"API_KEY","access":"full"}`
		reader   = `{"key":"API_READ_KEY","access":"read"}`
	)
	problem := func(what string) string { return `{"error":"The proxy sent a person in Remote-User ` + what + `"}` }
	for name, row := range map[string]struct{ headers, says string }{
		"a person who may write by name":        {byProxy + "\nRemote-User: ada", ada},
		"a person who may only read":            {byProxy + "\nRemote-User: bob", bob},
		"a person in an encoded word":           {byProxy + "\nRemote-User: =?utf-8?q?J=C3=B8rgen?=", `{"person":"Jørgen","access":"read"}`},
		"groups in several lines":               {byProxy + "\nRemote-User: bob\nRemote-Groups: staff\nRemote-Groups: editors", `{"person":"bob","access":"full"}`},
		"a program's own key, with a person":    {byProxy + "\n" + bearer + readKey + "\nRemote-User: ada", reader},
		"a program's own key, without a person": {byProxy + "\n" + bearer + fullKey, program1},
		"a program that has ended":              {byProxy + "\n" + bearer + otherKey + "\nRemote-User: ada", wrong},
		"the proxy's key in Authorization":      {bearer + proxyKey + "\nRemote-User: ada", wrong},
		"a proxy's key that has ended":          {"X-API-Key: old-" + proxyKey + "\nRemote-User: ada", wrong},
		"two keys of which one is the proxy's":  {byProxy + "\nX-API-Key: " + fullKey + "\nRemote-User: ada", wrong},
		"no person":                             {byProxy, nobody},
		"an empty person":                       {byProxy + "\nRemote-User: ", nobody},
		"two persons":                           {byProxy + "\nRemote-User: ada\nRemote-User: bob", `{"error":"The proxy sent Remote-User more than once"}`},
		"a name of 201 bytes":                   {byProxy + "\nRemote-User: a" + strings.Repeat("é", 100), problem("of more than 200 bytes")},
		"a name that is not UTF-8":              {byProxy + "\nRemote-User: J\xf8rgen", problem("that is not UTF-8")},
		"a control character":                   {byProxy + "\nRemote-User: =?utf-8?q?a=0Ab?=", problem("with a control character")},
		"an encoding that nobody knows":         {byProxy + "\nRemote-User: =?x-none?q?a?=", problem("in an encoding that cannot be read")},
		"what Caddy sends for nothing":          {byProxy + "\nRemote-User: {http.auth.user.id}", problem("in braces: it had none to put there")},
		"a person without a key":                {"Remote-User: ada", missing},
		"a person with a program's key":         {"X-API-Key: " + readKey + "\nRemote-User: ada", reader},
	} {
		t.Run(name, func(t *testing.T) {
			conn := p.Dial(t)
			conn.Send("GET /api/me HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", strings.ReplaceAll(row.headers, "\n", "\r\n"))
			answer := conn.Answer()
			_, access, isKnown := strings.Cut(strings.TrimSuffix(row.says, `"}`), `"access":"`)
			answer.Expect(t, map[bool]int{false: 401, true: 200}[isKnown], row.says+"…")
			challenge := map[bool]string{false: `Bearer realm="users-api"…`}[isKnown]
			program.ExpectHeader(t, answer, "WWW-Authenticate", challenge)
			program.ExpectHeader(t, answer, "Vary", "Authorization, X-API-Key, Remote-User, Remote-Groups")
			if isKnown {
				program.ExpectHeader(t, answer, "Cache-Control", "no-store")
				program.ExpectHeader(t, answer, "X-API-Key-Access", access)
			}
		})
	}
}

// Without a proxy key, no header names a person.
func TestMeSaysWhatAKeyMayDo(t *testing.T) {
	t.Parallel()
	program.Serve(t).Do(t, "GET", "/api/me", "", "Remote-User: ada", byProxy).Expect(t, 200, `{"access":"full"}…`)
	p := withKeys(t, "hr-sync "+fullKey)
	for key, says := range map[string]string{fullKey: `{"key":"hr-sync","access":"full"}…`, readKey: `{"key":"API_READ_KEY","access":"read"}…`} {
		answer := p.Do(t, "GET", "/api/me", "", "X-API-Key: "+key, "Remote-User: ada")
		answer.Expect(t, 200, says)
		program.ExpectHeader(t, answer, "Vary", "Authorization, X-API-Key")
	}
	p.Do(t, "GET", "/api/me", "").Expect(t, 401, `{"error":"An API key is needed"}…`)
	p.Do(t, "POST", "/api/users", sent, "X-API-Key: "+fullKey, "Remote-User: ada").Expect(t, 201, "…")
	p.Do(t, "GET", "/api/users/1/changes", "", "X-API-Key: "+fullKey).Expect(t, 200, `…"by":"key:hr-sync"…`)
	program.Forbid(t, p.Log(), "=ada", "person")
	closed := program.Serve(t, "PROXY_KEY="+proxyKey) // which closes the API by itself
	closed.Do(t, "GET", "/api/users", "").Expect(t, 401, `{"error":"An API key is needed"}…`)
	closed.Do(t, "POST", "/api/users", sent, byProxy, "Remote-User: ada").Expect(t, 201, "…")
}

func TestWhatPeopleDoIsRecordedUnderTheirNames(t *testing.T) {
	t.Parallel()
	p := withPeople(t, "USER_FIELDS=external_id,active", "PERSON_HEADER=x-forwarded-user", "PERSON_GROUPS_HEADER=X-Groups")
	ada, bob := []string{byProxy, "X-Forwarded-User: ada"}, []string{byProxy, "X-Forwarded-User: bob"}
	p.Do(t, "POST", "/api/users", sent, ada...).Expect(t, 201, "…")
	p.Do(t, "POST", batchPath, batchOf(item(patch, named)), ada...).Expect(t, 200, `{"responses":[{"status":200…`)
	p.Do(t, "POST", program.CSV, "name,email\nB,b@x\n", append(bob, "X-Groups: editors")...).Expect(t, 200, "…")
	p.Do(t, "POST", "/scim/v2/Users", `{"userName":"c@x","externalId":"c"}`, ada...).Expect(t, 201, "…")
	for i, by := range []string{"ada", "bob", "ada"} {
		program.Expect(t, "the history", historyOf(t, p, i+1, ada...)[0], `…"by":"person:`+by+`"…`)
	}
	p.Feed(t, "", `…"by":"person:ada"…`, ada...)
	program.Expect(t, "the log", p.Line(t, "person=ada"), "… key=front person=ada user=1…")

	for _, request := range []string{post, "DELETE /api/users/1", "POST " + program.CSV, "GET /api/users/1/changes", "GET /api/users/deleted",
		"POST /api/users/1/restore", "DELETE /api/users/1/changes"} {
		p.Ask(t, request, "", bob...).Expect(t, 403, `{"error":"bob can only read"}…`)
	}
	p.Do(t, "DELETE", "/api/users/1", "", append(bob, "Accept: "+problemType)...).Expect(t, 403, `…"code":"key_read_only"…`)
	p.Do(t, "GET", "/api/users/1", "", bob...).Expect(t, 200, "…")
	p.Do(t, "POST", program.CSV+"?dry_run=true", "name,email\nB,d@x\n", bob...).Expect(t, 200, "…")
	p.Do(t, "POST", batchPath, batchOf(item("DELETE /api/users/1", "")), bob...).Expect(t, 200, `…"status":403…bob can only read…`)
	for _, header := range []string{"X-Forwarded-User", "x-groups", "X-API-Key"} {
		batch := batchOf(item("DELETE /api/users/1\n"+header+": ada", ""))
		p.Do(t, "POST", batchPath, batch, ada...).Expect(t, 400, `{"error":"requests[0] must have no …`)
	}
	p.Do(t, "DELETE", "/api/users/1", "", append(ada, "Origin: https://other.example")...).Expect(t, 403, crossed) // with the proxy's cookie
	p.Do(t, "DELETE", "/api/users/1", "", append(ada, "Sec-Fetch-Site: same-origin")...).Expect(t, 204, "")
	p.Do(t, "GET", "/api/me", "", byProxy, "Remote-User: ada").Expect(t, 401, `{"error":"The proxy sent no person in X-Forwarded-User"}…`)
	program.Forbid(t, p.Log(), proxyKey)
}
