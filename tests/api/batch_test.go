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

// statuses are those of the answers to a batch.
func statuses(answers []program.Answer) (all []int) {
	for _, answer := range answers {
		all = append(all, answer.Status)
	}
	return all
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
	{"a page has a link to the next", "GET /api/users?limit=1&count=true", "", 200, "[" + ada + "]"},
	{"a page may be empty", "GET /api/users?email=nobody&limit=1", "", 200, "[]"},
	{"a parameter may be unknown", "GET /api/users?limit=1&nmae=x", "", 400, "…Unknown parameter…"},
	{"an error may be a problem", "PATCH /api/users/3\nAccept: " + problemType, "{}", 404, `…"code":"user_not_found"…`},
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
		method, path, _ := strings.Cut(strings.Split(s.request, "\n")[0], " ")
		isUser := strings.HasPrefix(path, "/api/users/")
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
			single := p.Ask(t, s.request, s.body)
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
			const cursor = "Changes-Cursor" // on PostgreSQL it may lie behind what is shown
			program.Expect(t, "whether there is a cursor", part.Header.Get(cursor) != "", single.Header.Get(cursor) != "")
			for _, name := range []string{"Connection", "Content-Length", cursor, "Date", "X-Request-Id"} {
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
	program.Expect(t, fmt.Sprint("whether many were tried, which are ", tried), tried > 50, true)
}

// withoutTimes takes the times of users out who were created at different ones.
func withoutTimes(list string) string {
	return regexp.MustCompile(`"created_at":"[-0-9: ]{19}"`).ReplaceAllString(list, "")
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
		"a key beside requests is refused":         {`{"requests":[],"atomic":true}`, noBatch},
		"a request that is a text is named":        {second(`"GET /api/users/1"`), shape},
		"null is named":                            {second(`null`), which},
		"a misspelt key is named":                  {second(`{"method":"DELETE","path":"/api/users/1","header":{"If-Match":"x"}}`), shape},
		"HEAD is named":                            {second(item("HEAD /api/users/1", "")), which},
		"a whole list is named":                    {second(item("GET /api/users", "")), which},
		"a batch within a batch is named":          {second(item("POST /api/users/batch", batchOf())), which},
		"an import is named":                       {second(item("POST "+program.CSV, "")), which},
		"the feed is named":                        {second(item("GET /api/changes?limit=1", "")), which},
		"an escaped slash is named":                {second(item("GET /api/users/1%2Fx", "")), which},
		"a URL is named":                           {second(item("GET http://x/api/users/1", "")), which},
		"a request with a key of its own is named": {second(item("GET /api/users/1\nx-api-key: k", "")), "requests[1] must have no key of its own: …"},
		"more than 1,000 requests are refused": {batchOf(slices.Repeat([]string{item0}, 1001)...),
			"A batch has at most 1000 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			p.Do(t, "POST", batchPath, c.body).Expect(t, 400, strings.ReplaceAll(program.ErrorBody(c.says), `\u2026`, "…"))
		})
	}
	p.Do(t, "POST", batchPath, "{}", "Accept: "+problemType).Expect(t, 400, `…"code":"body_invalid"}`)
	p.ExpectUsers(t)
}

var item0 = item(post, sent)

// A batch that cannot write takes no lock: it is answered while another program holds that of all writes.
func TestAReadKeyMaySendABatchWhoseWritesAreRefused(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	const full, reads = "X-API-Key: " + fullKey, "X-API-Key: " + readKey
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), full)
	single := p.Do(t, "DELETE", "/api/users/1", "", reads)
	read := []string{item("GET /api/users/1", ""), item("GET /api/users?limit=1", ""), item("GET /api/users/9", "")}
	all := append(slices.Clone(read), item0, item(patch, both), item(put, both), item("DELETE /api/users/1", ""))
	p.Do(t, "POST", batchPath, batchOf(all...), "X-API-Key: wrong-key-0123456789").Expect(t, 401, "…")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()
	program.Expect(t, "those who only read", statuses(sendBatch(t, p, read, full)), "[200 200 404]")
	answers := sendBatch(t, p, all, reads)
	program.Expect(t, "those of a read key", statuses(answers), "[200 200 404 403 403 403 403]")
	program.Expect(t, "whether the lock is still held", program.OpenOther(t, p.DatabasePath()).MustWait(), true)
	other.LetGo()
	for i, answer := range answers {
		program.ExpectHeader(t, answer, "X-API-Key-Access", "read")
		if i >= len(read) {
			answer.Expect(t, 403, single.Body)
			program.ExpectHeader(t, answer, "WWW-Authenticate", single.Header.Get("WWW-Authenticate"))
		}
	}
	program.Expect(t, "those of a full key", statuses(sendBatch(t, p, all, full)), "[200 200 404 201 200 200 204]")
}

func TestABatchMayHave16MiBAndEachOfItsBodies1MiB(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	var items []string
	for i := range 17 {
		items = append(items, item(post, program.Body(strings.Repeat("n", 1<<20-100), fmt.Sprint(i))))
	}
	p.Do(t, "POST", batchPath, batchOf(items...)).Expect(t, 413, program.ErrorBody("The request body is larger than 16 MiB"))
	items[1] = item(post, program.Body(strings.Repeat("n", 1<<20), "1"))
	answers := sendBatch(t, p, items[:15])
	answers[1].Expect(t, 413, program.ErrorBody("The request body is larger than 1 MiB"))
	answers[14].Expect(t, 201, "…")
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
		items = append(items, item(patch, fmt.Sprintf(`{"email":"x%d"}`, i)))
	}
	answers := sendBatch(t, p, append(items, item("GET /api/users?limit=1\nAccept: "+problemType, "")))
	program.Expect(t, "the email of the last that was carried out", answers[15].User(t).Email, "x15")
	for _, answer := range answers[16:19] {
		answer.Expect(t, 413, program.ErrorBody(full))
	}
	answers[19].Expect(t, 413, `…"code":"batch_full"…`)
	program.Expect(t, "the email in the end", p.List(t)[0].Email, "x15")
}

func TestEachRequestOfABatchIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	p.Create(t, "Ada", "ada@example.org")
	sendBatch(t, p, []string{item(post, sent), item("DELETE /api/users/9", ""), item("GET /api/users/1\nX-Request-Id: own", "")}, "X-Request-Id: many")
	for _, line := range []string{
		"method=POST route=/api/users status=201 … request_id=many user=2",
		"method=DELETE route=/api/users/:id status=404 … request_id=many",
		"method=GET route=/api/users/:id status=200 … request_id=own",
		"method=POST route=/api/users/batch status=200 … request_id=many requests=3",
	} {
		p.WaitForLog(t, "msg=request "+line+"\n")
	}
	program.Expect(t, "the figures", program.AskAdmin(t, p, "/metrics").Body,
		`…http_requests_total{code="200",method="POST",route="/api/users/batch"} 1…code="201",method="POST",route="/api/users"} 2…`)
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
	p.Create(t, "Alan", "alan@example.org")
	ifUnchanged := "\nIf-Match: " + program.ETag(t, p, 1)
	answers := sendBatch(t, p, []string{
		item(patch+ifUnchanged, `{"name":"Augusta"}`),
		item(patch+ifUnchanged, `{"name":"stale"}`),
		item(post, program.Body("twice", "alan@example.org")),
		item(patch, `{"email":"alan@example.org"}`),
		item("DELETE /api/users/alan@example.org", ""),
		item("GET /api/users/2", ""),
		item(patch, `{"email":"alan@example.org"}`), // is free now
		item("POST /api/users/2/restore", ""),
		item("POST /api/users/2/restore", `{"email":"b@b"}`),
		item("GET /api/users/b@b", ""),
		item(post, `{"name":"no email"}`),
		item("PUT /api/users/ada@example.org", `{"name":"again"}`),
		item("GET /api/users?q=again&limit=10", ""),
	})
	program.Expect(t, "the statuses", statuses(answers), "[200 412 500 409 204 404 200 409 201 200 400 201 200]")
	program.Expect(t, "who was restored", answers[9].Body, answers[8].Body)
	answers[12].Expect(t, 200, `[{…"name":"again",…}]`)
	p.ExpectUsers(t, "Augusta", "Alan", "again")
	program.Expect(t, "the entries of the first", len(historyOf(t, p, 1)), 3) // none of what was refused
	program.Expect(t, "the history of the second", historyOf(t, p, 2),
		"["+was("created", 2, "…")+" "+was("deleted", 2, "…")+" "+was("created", 2, "…")+"]")
	p.Do(t, "POST", batchPath, `{"requests":[]}`).Expect(t, 200, `{"responses":[]}`)
	p.Do(t, "POST", batchPath, batchOf(item("GET /api/users/1", ""))).Expect(t, 200, // a key of JSON has one spelling
		`{"responses":[{"status":200,"headers":{"Cache-Control":"no-cache","Content-Type":"…","ETag":"…"},"body":{"id":1,…}}]}`)
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
