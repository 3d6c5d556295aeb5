package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"users-api/tests/program"
)

const batchPath = "/api/users/batch"

// item is a request of a batch: "PATCH /api/users/1", header lines may follow.
func item(request, body string) string {
	lines := strings.Split(request, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	headers := map[string]string{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		headers[name] = value
	}
	if body != "" {
		body = `,"body":` + body
	}
	text, err := json.Marshal(map[string]any{"method": method, "path": path, "headers": headers})
	if err != nil {
		panic(err) // text always marshals
	}
	return strings.TrimSuffix(string(text), "}") + body + "}"
}

func batchOf(items ...string) string { return `{"requests":[` + strings.Join(items, ",") + `]}` }

// parts returns the answers to the requests of a batch.
func parts(t *testing.T, answer program.Answer) (all []program.Answer) {
	t.Helper()
	var sent struct {
		Responses []struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
	}
	answer.Expect(t, 200, "…")
	program.Must(t, json.Unmarshal([]byte(answer.Body), &sent))
	for i, response := range sent.Responses {
		header := http.Header{}
		for name, value := range response.Headers {
			header.Set(name, value)
		}
		part := program.Answer{Status: response.Status, Header: header, Body: string(response.Body)}
		all = append(all, part.To(fmt.Sprintf("requests[%d]", i)))
	}
	return all
}

func sendBatch(t *testing.T, p *program.Program, items []string, header ...string) []program.Answer {
	t.Helper()
	answer := p.Do(t, "POST", batchPath, batchOf(items...), header...)
	program.ExpectLength(t, answer)
	answers := parts(t, answer)
	if len(answers) != len(items) {
		t.Fatalf("%d requests have %d answers", len(items), len(answers))
	}
	return answers
}

// inBatches are requests beside those of the other tables, to the same users.
var inBatches = []scenario{
	{"a user is read", "GET /api/users/1", "", 200, ada},
	{"a user that does not exist is not found", "GET /api/users/3", "", 404, noUser},
	{"an id that is none is not found", "GET /api/users/%6eobody?x=y", "", 404, noUser},
	{"a body of a request that reads is not looked at", "GET /api/users/1", `{"x":1}`, 200, ada},
	{"a page has a link to the next", "GET /api/users?limit=1&count=true", "", 200, "[" + ada + "]"},
	{"a page may be empty", "GET /api/users?email=nobody&limit=1", "", 200, "[]"},
	{"a parameter may be unknown", "GET /api/users?limit=1&nmae=x", "", 400, "…Unknown parameter…"},
	{"a limit may be none", "GET /api/users?limit=0", "", 400, "…The parameter limit…"},
	{"an error may be a problem", "PATCH /api/users/3\nAccept: " + problemType, "{}", 404, `…"code":"user_not_found"…`},
	{"a duplicate may be a problem", post + "\nAccept: " + problemType, `{"name":"B","email":"ada@example.org"}`, 409,
		`…"code":"email_used"…`},
	{"a deletion has a body that nobody reads", "DELETE /api/users/1", `{"x":1}`, 204, ""},
	{"a star matches", patch + "\nif-match: *", both, 200, nowBoth},
	{"a page that is known is not sent", "GET /api/users?limit=5\nIf-None-Match: *", "", 304, ""},
}

// Two programs would differ in their times: each request is sent twice to one, whose users are made anew in between.
func TestARequestInABatchIsAnsweredAsItIsByItself(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	tried := 0
	for _, s := range slices.Concat(scenarios, changes, inBatches) {
		lines := strings.Split(s.request, "\n")
		method, path, _ := strings.Cut(lines[0], " ")
		_, isUser := strings.CutPrefix(path, "/api/users/")
		fits := (isUser && method != "POST" && path != "/api/users/" || s.request == post || strings.HasPrefix(s.request, post+"\n") ||
			strings.HasPrefix(path, "/api/users?")) && (s.body == "" || json.Valid([]byte(s.body)))
		fits = fits && utf8.ValidString(s.body) && !strings.HasPrefix(path, batchPath)
		if !fits || strings.Contains(s.answer, "is not valid JSON") { // the batch itself would not be valid
			continue
		}
		tried++
		t.Run(s.name, func(t *testing.T) {
			fresh := func() {
				other.Empty()
				other.Insert("INSERT INTO users (id, name, email, created_at) VALUES (1, 'Ada', 'ada@example.org', '2026-11-20 15:42:07')")
			}
			fresh()
			single := p.Do(t, method, path, s.body, lines[1:]...)
			users := p.Do(t, "GET", "/api/users", "").Body
			fresh()
			to := p
			if s.body == "null" { // the validator takes what has no type in the document for anything but null
				to = p.At(p.URL)
			}
			part := sendBatch(t, to, []string{item(s.request, s.body)})[0]
			single.Expect(t, part.Status, part.Body)
			program.Expect(t, "the users", withoutTimes(p.Do(t, "GET", "/api/users", "").Body), withoutTimes(users))
			program.Expect(t, "headers of another message", part.Header.Get("Connection")+part.Header.Get("Content-Length"), "")
			for _, name := range []string{"Connection", "Content-Length", "Date", "X-Request-Id"} {
				single.Header.Del(name)
				part.Header.Del(name)
			}
			for name, values := range single.Header {
				single.Header[name] = []string{strings.Join(values, ", ")}
			}
			program.Expect(t, "the headers", part.Header, single.Header)
			if slices.ContainsFunc(inBatches, func(of scenario) bool { return of.name == s.name }) {
				part.Expect(t, s.status, s.answer)
			}
		})
	}
	if tried < 60 {
		t.Errorf("%d requests were tried", tried)
	}
}

// withoutTimes takes the times of users out who were created at different ones.
func withoutTimes(list string) string {
	return regexp.MustCompile(`"created_at":"[-0-9: ]{19}"`).ReplaceAllString(list, "")
}

func TestABatchIsAnsweredItemByItem(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	tag := program.ETag(t, p, 1)
	p.Do(t, "POST", batchPath, batchOf(item("GET /api/users/1", ""))).Expect(t, 200, // a key of JSON has one spelling
		`{"responses":[{"status":200,"headers":{"Cache-Control":"no-cache","Content-Type":"…","ETag":"…"},"body":{"id":1,…}}]}`)
	answers := sendBatch(t, p, []string{
		item("PATCH /api/users/1\nIf-Match: "+tag, `{"name":"Augusta"}`),
		item("PATCH /api/users/1\nIf-Match: "+tag, `{"name":"Byron"}`),
		item("DELETE /api/users/9", ""),
		item("PATCH /api/users/2", `{"email":"ada@example.org"}`),
		item("DELETE /api/users/2", ""),
		item("GET /api/users/2", ""),
		item(post, sent),
	})
	for i, status := range []int{200, 412, 404, 409, 204, 404, 201} {
		answers[i].Expect(t, status, "…")
	}
	program.ExpectHeader(t, answers[0], "ETag", program.ETag(t, p, 1))
	program.ExpectHeader(t, answers[1], "ETag", program.ETag(t, p, 1))
	program.ExpectHeader(t, answers[6], "Location", "users/3")
	p.ExpectUsers(t, "Augusta", "A")
	answers = sendBatch(t, p, []string{ // which are carried out in order, as one names a user by email
		item("PUT /api/users/a%40b", `{"name":"B"}`), item("PATCH /api/users/3", `{"name":"C"}`), item("PUT /api/users/a@b"+onlyNew, named),
		item("GET /api/users/a@b", ""), item("DELETE /api/users/a@b", ""), item("GET /api/users/3", ""), item("PUT /api/users/d@b", named),
	})
	for i, status := range []int{200, 200, 412, 200, 204, 404, 201} {
		answers[i].Expect(t, status, "…")
	}
	program.Expect(t, "the user before the deletion", answers[3].Body, answers[1].Body)
	program.ExpectHeader(t, answers[6], "Location", "4")
	program.Expect(t, "what no requests are answered", p.Do(t, "POST", batchPath, `{"requests":[]}`).Body, `{"responses":[]}`)
}

func TestABatchThatIsNoneIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	const (
		noBatch = `The request body must be {"requests":[…]}, and nothing else`
		shape   = "requests[1] must be an object with the texts method and path, and perhaps headers (an object of texts) and body"
		which   = "requests[1] must be POST /api/users, GET /api/users?limit=…, " +
			"GET, PUT, PATCH or DELETE of /api/users/ID, or POST /api/users/ID/restore"
	)
	second := func(item string) string { return batchOf(item0, item) }
	for name, c := range map[string]struct{ body, says string }{
		"nothing is no batch":                      {"", noBatch},
		"null is no batch":                         {"null", noBatch},
		"an object without requests is no batch":   {"{}", noBatch},
		"requests that are no array are no batch":  {`{"requests":{}}`, noBatch},
		"a key beside requests is refused":         {`{"requests":[],"atomic":true}`, noBatch},
		"an array is refused":                      {`[` + item0 + `]`, "The request body must be a JSON object, not an array"},
		"half a batch is refused":                  {`{"requests":[` + item0, "The request body is not valid JSON: …"},
		"a request that is a text is named":        {second(`"GET /api/users/1"`), shape},
		"a request without a path is named":        {second(`{"method":"GET"}`), which},
		"a request without a method is named":      {second(`{"path":"/api/users/1"}`), which},
		"null is named":                            {second(`null`), which},
		"a misspelt key is named":                  {second(`{"method":"DELETE","path":"/api/users/1","header":{"If-Match":"x"}}`), shape},
		"a header that is a number is named":       {second(`{"method":"DELETE","path":"/api/users/1","headers":{"If-Match":1}}`), shape},
		"a method in lower case is named":          {second(item("get /api/users/1", "")), which},
		"HEAD is named":                            {second(item("HEAD /api/users/1", "")), which},
		"a whole list is named":                    {second(item("GET /api/users", "")), which},
		"a list with a filter alone is named":      {second(item("GET /api/users?q=limit", "")), which},
		"a batch within a batch is named":          {second(item("POST /api/users/batch", batchOf())), which},
		"a user called batch is named":             {second(item("GET /api/users/%62atch", "")), which},
		"an import is named":                       {second(item("POST "+program.CSV, "")), which},
		"an export is named":                       {second(item("GET "+program.CSV+"?limit=1", "")), which},
		"the feed is named":                        {second(item("GET /api/changes?limit=1", "")), which},
		"a path below a user is named":             {second(item("GET /api/users/1/x", "")), which},
		"an escaped slash is named":                {second(item("GET /api/users/1%2Fx", "")), which},
		"the list's path with a slash is named":    {second(item("GET /api/users/?limit=1", "")), which},
		"a URL is named":                           {second(item("GET http://x/api/users/1", "")), which},
		"a path that is none is named":             {second(item("GET /api/users/%zz", "")), which},
		"a user that is posted to is named":        {second(item("POST /api/users/1", "{}")), which},
		"a request with a key of its own is named": {second(item("GET /api/users/1\nx-api-key: k", "")), "requests[1] must have no key of its own: …"},
		"more than 1,000 requests are refused": {batchOf(slices.Repeat([]string{item0}, 1001)...),
			"A batch has at most 1000 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			p.Do(t, "POST", batchPath, c.body).Expect(t, 400, strings.ReplaceAll(program.ErrorBody(c.says), `\u2026`, "…"))
		})
	}
	problem := readProblem(t, p.Do(t, "POST", batchPath, "{}", "Accept: "+problemType))
	program.Expect(t, "the code", problem.Code, "body_invalid")
	p.ExpectUsers(t)
}

var item0 = item(post, sent)

func TestAReadKeyMaySendABatchWhoseWritesAreRefused(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), "X-API-Key: "+fullKey)
	items := []string{item0, item(patch, both), item(put, both), item("DELETE /api/users/1", ""),
		item("GET /api/users/1", ""), item("GET /api/users?limit=1", "")}
	for _, wrong := range []string{"X-API-Key: wrong-key-0123456789", "Authorization: Basic " + fullKey, "X-API-Key: " + readKey + fullKey,
		"Authorization: Bearer  wrong-0123"} {
		p.Do(t, "POST", batchPath, batchOf(items...), wrong).Expect(t, 401, "…")
	}
	const reads = "X-API-Key: " + readKey
	single := p.Do(t, "DELETE", "/api/users/1", "", reads)
	single.Expect(t, 403, "…")
	for i, answer := range sendBatch(t, p, items, reads) {
		program.ExpectHeader(t, answer, "X-API-Key-Access", "read")
		if i < 4 {
			answer.Expect(t, 403, single.Body)
			program.ExpectHeader(t, answer, "WWW-Authenticate", single.Header.Get("WWW-Authenticate"))
		} else {
			answer.Expect(t, 200, "…")
		}
	}
	for i, answer := range sendBatch(t, p, items, "Authorization: Bearer "+fullKey) {
		answer.Expect(t, []int{201, 200, 200, 204, 404, 200}[i], "…")
	}
}

func TestABatchMayHave16MiBAndEachOfItsBodies1MiB(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	name := strings.Repeat("n", 1<<20-100)
	create := func(i int, more string) string { return item(post, program.Body(name+more, fmt.Sprint(i))) }
	var items []string
	for i := range 15 {
		items = append(items, create(i, ""))
	}
	items[7] = create(7, strings.Repeat("n", 200))
	for i, answer := range sendBatch(t, p, items) {
		if i == 7 {
			answer.Expect(t, 413, program.ErrorBody("The request body is larger than 1 MiB"))
		} else {
			answer.Expect(t, 201, "…")
		}
	}
	items = append(items, create(15, ""), create(16, ""))
	p.Do(t, "POST", batchPath, batchOf(items...)).Expect(t, 413, program.ErrorBody("The request body is larger than 16 MiB"))
	program.Expect(t, "how many users there are", len(p.List(t)), 14)
}

// What does not fit has done nothing, and neither has anything that follows it. Each answer has 1 MB.
func TestWhatFollows16MiBOfAnswersIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	const full = "The answers of this batch have reached 16 MiB, and this request was not carried out: send it in another batch"
	p.Create(t, strings.Repeat("n", 1_000_000), "a@b")
	var items []string
	for i := range 19 {
		items = append(items, item("PATCH /api/users/1", fmt.Sprintf(`{"email":"x%d"}`, i)))
	}
	items = append(items, item("GET /api/users?limit=1\nAccept: "+problemType, ""))
	answers := sendBatch(t, p, items)
	for i, answer := range answers[:16] {
		program.Expect(t, "the email", answer.User(t).Email, fmt.Sprint("x", i))
	}
	for _, answer := range answers[16:19] {
		answer.Expect(t, 413, program.ErrorBody(full))
	}
	answers[19].Expect(t, 413, `…"code":"batch_full"…`)
	program.ExpectHeader(t, answers[19], "Content-Type", problemType)
	program.WaitFor(t, "the log has all", func() bool { return strings.Count(p.Log(), "status=413") == 4 })
	program.Forbid(t, p.Log(), "cut_by")
	program.Expect(t, "the email in the end", p.List(t)[0].Email, "x15")
}

func TestEachRequestOfABatchIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	sendBatch(t, p, []string{
		item(post, sent), item(patch, `{"name":"B"}`), item("DELETE /api/users/2", ""), item("DELETE /api/users/9", ""),
		item("GET /api/users/1\nX-Request-Id: own", ""),
	}, "X-Request-Id: many")
	for _, line := range []string{
		"method=POST route=/api/users status=201 … request_id=many user=3",
		"method=PATCH route=/api/users/:id status=200 … request_id=many user=1",
		"method=DELETE route=/api/users/:id status=204 … request_id=many user=2",
		"method=DELETE route=/api/users/:id status=404 … request_id=many",
		"method=GET route=/api/users/:id status=200 … request_id=own",
		"method=POST route=/api/users/batch status=200 … request_id=many requests=5",
	} {
		p.WaitForLog(t, "msg=request "+line+"\n")
	}
	program.Expect(t, "how many lines are of the batch", strings.Count(p.Log(), "request_id=many"), 5)
	figures := program.AskAdmin(t, p, "/metrics").Body
	for _, figure := range []string{
		`http_requests_total{code="204",method="DELETE",route="/api/users/:id"} 1`,
		`http_requests_total{code="200",method="POST",route="/api/users/batch"} 1`,
		`http_requests_total{code="201",method="POST",route="/api/users"} 3`,
		`http_requests_in_flight 0`,
	} {
		program.Expect(t, "the figures", figures, "…"+figure+"…")
	}
}

// Nobody would learn of what is stored.
func TestNothingOfABatchIsStoredWhenItsClientIsGone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()
	var items []string
	for i := range 1000 {
		items = append(items, item(post, program.Body("n", fmt.Sprint(i))))
	}
	body := batchOf(items...)
	conn := p.Dial(t)
	conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\nContent-Length: %d\r\n\r\n%s", batchPath, len(body), body)
	program.WaitFor(t, "it waits for the lock", func() bool { return program.Scrape(t, p)["http_requests_in_flight"][""] > 0 })
	_ = conn.Close()
	p.WaitForLog(t, "route=/api/users/batch status=499")
	other.LetGo()
	p.Create(t, "Ada", "ada@example.org")
	p.ExpectUsers(t, "Ada")
	program.Forbid(t, p.Log(), "panic")
}

// Each request sees what those before it have done, and one that is refused leaves nothing behind.
func TestABatchIsOneTransactionInOrder(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	for round := range 20 { // a wrong order would fail sometimes
		for i, answer := range sendBatch(t, p, []string{
			item("DELETE /api/users/ada@example.org", ""),
			item(post, program.Body(fmt.Sprint("Ada ", round), "ada@example.org")),
			item(post, program.Body("twice", "ada@example.org")),
			item("PATCH /api/users/ada@example.org", `{"email":"b@b"}`),
			item(post, `{"name":"no email"}`),
			item("GET /api/users/ada@example.org", ""),
			item("PUT /api/users/ada@example.org", `{"name":"again"}`),
			item("PATCH /api/users/b@b\nIf-Match: \"x\"", `{"name":"stale"}`),
			item("PATCH /api/users/b@b", `{"email":"again"}`), // another has it meanwhile
			item("DELETE /api/users/b@b", ""),
			item("GET /api/users?q=ada&limit=10", ""),
		}) {
			answer.Expect(t, []int{204, 201, 500, 200, 400, 404, 201, 412, 200, 404, 200}[i], "…")
		}
		for _, user := range p.ExpectUsers(t, fmt.Sprint("Ada ", round), "again") {
			if user.Name != "again" {
				p.Delete(t, user.ID)
			}
		}
		program.Expect(t, "the entries of the user", len(historyOf(t, p, p.List(t)[0].ID)), 1) // none of what was refused
	}
}

// In one batch somebody is deleted, restored under another email, and shown.
func TestABatchRestoresUsers(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	answers := sendBatch(t, p, []string{
		item("POST /api/users/1/restore", ""), item("DELETE /api/users/1", ""), item("POST /api/users/1/restore", `{"name":""}`),
		item("POST /api/users/1/restore", `{"email":"b@b"}`), item("GET /api/users/b@b", ""), item("POST /api/users/2/restore", "{}"),
	})
	for i, status := range []int{409, 204, 400, 201, 200, 404} {
		answers[i].Expect(t, status, "…")
	}
	program.ExpectHeader(t, answers[3], "Location", "../1")
	program.Expect(t, "the user", answers[4].Body, answers[3].Body)
	program.Expect(t, "the history", historyOf(t, p, 1), "["+was("created", 1, "…")+" "+was("deleted", 1, "…")+" "+was("created", 1, "…")+"]")
}

// A batch that cannot write takes no lock: it is answered while another program holds that of all writes.
func TestABatchWithoutWritesWaitsForNoLock(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	const full, reads = "X-API-Key: " + fullKey, "X-API-Key: " + readKey
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), full)
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()
	items := []string{item("GET /api/users/1", ""), item("GET /api/users?limit=1", ""), item("GET /api/users/9", "")}
	for i, answer := range sendBatch(t, p, items, full) {
		answer.Expect(t, []int{200, 200, 404}[i], "…")
	}
	for i, answer := range sendBatch(t, p, append(items, item0, item("DELETE /api/users/1", "")), reads) {
		answer.Expect(t, []int{200, 200, 404, 403, 403}[i], "…")
	}
	program.Expect(t, "whether the lock is still held", program.OpenOther(t, p.DatabasePath()).MustWait(), true)
	other.LetGo()
}

// A batch has a connection, and a search the turn of searches: neither waits for what the other has.
func TestBatchesAndSearchesDoNotWaitForOneAnother(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(2000)
	search := item("GET /api/users?limit=1&q=user1999", "")
	batch := batchOf(slices.Repeat([]string{search}, 10)...)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { p.Do(t, "POST", batchPath, batch).Expect(t, 200, `…"id":1999,…`) })
		all.Go(func() { p.Do(t, "GET", "/api/users?limit=1&q=user1998", "").Expect(t, 200, `[{"id":1998,…}]`) })
		all.Go(func() { p.Do(t, "GET", program.CSV+"?q=user1997", "").Expect(t, 200, "…User 1997…") })
	}
	all.Wait()
}

// On SQLite a batch holds the one writer. Each search looks at every user.
func TestABatchThatIsTooSlowStoresNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Locks) // PostgreSQL gives it a minute
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(50_000)
	items := append([]string{item(post, sent)}, slices.Repeat([]string{item("GET /api/users?limit=1&q=nobodys", "")}, 999)...)
	const says = "The batch took too long, and nothing was stored: send fewer requests in each"
	answer := p.Do(t, "POST", batchPath, batchOf(items...), "Accept: "+problemType)
	answer.Expect(t, 503, `{…"detail":"`+says+`","code":"batch_too_slow"}`)
	program.ExpectHeader(t, answer, "Retry-After", "5")
	p.Do(t, "GET", "/api/users/a@b", "").Expect(t, 404, noUser)
	if begun := strings.Count(p.Log(), "route=/api/users status=200"); begun > 900 {
		t.Errorf("%d of 999 searches were carried out", begun)
	}
	p.Create(t, "A", "a@b")
}
