package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// past is a response with the history of a user. Its entries are as they came.
type past struct{ Changes []json.RawMessage }

// historyOf reads the history of a user, and expects 200.
func historyOf(t *testing.T, p *program.Program, id any, header ...string) []string {
	t.Helper()
	answer := p.Do(t, "GET", fmt.Sprintf("/api/users/%v/changes", id), "", header...)
	answer.Expect(t, 200, "…")
	program.ExpectHeader(t, answer, "Cache-Control", "…no-store…")
	var read past
	program.Must(t, json.Unmarshal([]byte(answer.Body), &read))
	entries := []string{}
	for _, entry := range read.Changes {
		entries = append(entries, string(entry))
	}
	return entries
}

// cursorOf returns the cursor of an entry.
func cursorOf(entry string) string { return strings.Split(entry, `"`)[3] }

const (
	hrKey    = "hr-key-0123456789abc"
	withHR   = "\nX-API-Key: " + hrKey + "\nX-Request-Id: r1"
	byHR     = `"by":"key:hr-sync","request":"r1"`
	nobodys3 = `{"id":3,"name":"A","email":"a@b","created_at":"…","phone":null,"external_id":null,"active":null,"updated_at":"…"}`
)

// was is the entry of a user, or with 0 of any, with some op, and what follows its time.
func was(op string, id int, rest string) string {
	return strings.Replace(fmt.Sprintf(`{"cursor":"…","op":"%s","id":%d,"at":"…",%s}`, op, id, rest), `"id":0,`, `"id":…,`, 1)
}

// Each write follows those before it. The users 1, ada@example.org, and 2, alan@example.org, are there.
func TestEachWriteIsRecordedAndNothingElse(t *testing.T) {
	t.Parallel()
	p := withKeys(t, "hr-sync "+hrKey+"\n"+fullKey, "USER_FIELDS=phone,external_id,active,updated_at")
	for _, name := range []string{"ada", "alan"} {
		p.Do(t, "POST", "/api/users", program.Body("Ada", name+"@example.org"), "X-API-Key: "+hrKey).Expect(t, 201, "…")
	}
	const (
		file   = "POST " + program.CSV
		update = file + "?on_conflict=update"
		scim   = "/scim/v2/Users"
		person = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"s@b","externalId":"x"}`
		row    = "name,email,phone\nC,a@b,7\n"
	)
	seen := map[string]bool{}
	recorded := func() (entries []string) {
		for id := range 16 { // of which PostgreSQL gives some to what is refused
			if p.Do(t, "GET", fmt.Sprintf("/api/users/%d/changes", id+1), "", "X-API-Key: "+fullKey).Status != 200 {
				continue
			}
			for _, entry := range slices.Backward(historyOf(t, p, id+1, "X-API-Key: "+fullKey)) {
				if !seen[cursorOf(entry)] {
					seen[cursorOf(entry)] = true
					entries = append(entries, entry)
				}
			}
		}
		return entries
	}
	recorded()
	last := "" // id of an entry
	for _, s := range []struct {
		scenario // whose answer is what is recorded
		entries  []string
	}{
		{scenario{"a creation has neither before nor after", post, sent, 201, ""}, []string{was("created", 3, byHR)}},
		{scenario{"a change has the fields that differ", "PATCH /api/users/3", `{"name":"B","email":"a@b","phone":"1"}`, 200, ""},
			[]string{was("changed", 3, byHR+`,"before":{"name":"A","phone":null},"after":{"name":"B","phone":"1"}`)}},
		{scenario{"the same values are no change", "PATCH /api/users/3", `{"name":"B","phone":"1"}`, 200, ""}, nil},
		{scenario{"a change that is refused is not recorded", "PATCH /api/users/3", `{"email":"ada@example.org"}`, 409, ""}, nil},
		{scenario{"a replacement has the fields that differ", "PUT /api/users/3", `{"name":"A","email":"a@b"}`, 200, ""},
			[]string{was("changed", 3, byHR+`,"before":{"name":"B","phone":"1"},"after":{"name":"A","phone":null}`)}},
		{scenario{"a put creates", "PUT /api/users/p@b", named, 201, ""}, []string{was("created", 0, byHR)}},
		{scenario{"a deletion has the whole user", "DELETE /api/users/3", "", 204, ""},
			[]string{was("deleted", 3, byHR+`,"before":`+nobodys3)}},
		{scenario{"a restore is a creation", "POST /api/users/3/restore", "", 201, ""}, []string{was("created", 3, byHR)}},
		{scenario{"a dry run is not recorded", update + "&dry_run=true", row, 200, ""}, nil},
		{scenario{"a file that is refused is not recorded", file, row, 422, ""}, nil},
		{scenario{"a file's changes are recorded", update, row, 200, ""},
			[]string{was("changed", 3, byHR+`,"before":{"name":"A","phone":null},"after":{"name":"C","phone":"7"}`)}},
		{scenario{"a file's rows that are stored are recorded", file + "?on_error=skip", "name,email\nC,a@b\nF,f@b\n,g@b\n", 200, ""},
			[]string{was("created", 0, byHR)}},
		{scenario{"a file's deletions are recorded", update + "&on_missing=delete&max_deletes=9",
			"name,email\nAda,ada@example.org\nAda,alan@example.org\nC,a@b\n", 200, ""},
			[]string{was("deleted", 0, byHR+`,"before":{"id":…"email":"p@b",…}`), was("deleted", 0, byHR+`,"before":{"id":…}`)}},
		{scenario{"a batch is recorded by its requests", "POST " + batchPath,
			batchOf(item("PATCH /api/users/3\nX-Request-Id: r2", `{"name":"D"}`), item("PATCH /api/users/3", `{"email":"ada@example.org"}`),
				item("DELETE /api/users/3", "")), 200, ""},
			[]string{was("changed", 3, `"by":"key:hr-sync","request":"r2","before":{"name":"C"},"after":{"name":"D"}`),
				was("deleted", 3, byHR+`,"before":{"id":3,"name":"D",…}`)}},
		{scenario{"an identity provider's creation is recorded", "POST " + scim, person, 201, ""}, []string{was("created", 0, byHR)}},
		{scenario{"its change has the fields that differ", "PATCH " + scim + "/LAST",
			`{"Operations":[{"op":"replace","path":"active","value":false}]}`, 200, ""},
			[]string{was("changed", 0, byHR+`,"before":{"active":null},"after":{"active":"false"}`)}},
		{scenario{"its replacement by the same is no change", "PUT " + scim + "/LAST", person, 200, ""}, nil},
		{scenario{"its deletion is recorded", "DELETE " + scim + "/LAST", "", 204, ""},
			[]string{was("deleted", 0, byHR+`,"before":{"id":…"name":"s@b",…}`)}},
		{scenario{"a key without a name is API_KEY", "PATCH /api/users/1\nX-Request-Id: r3\nX-API-Key: " + fullKey, named, 200, ""},
			[]string{was("changed", 1, `"by":"key:API_KEY","request":"r3","before":{"name":"Ada"},"after":{"name":"B"}`)}},
	} {
		t.Run(s.name, func(t *testing.T) {
			if !strings.Contains(s.request, "X-API-Key") {
				s.request += withHR
			}
			s.request = strings.ReplaceAll(s.request, "LAST", last)
			p.Ask(t, s.request, s.body).Expect(t, s.status, "…")
			got := recorded()
			program.Expect(t, "what is recorded", strings.Join(got, "\n"), strings.Join(s.entries, "\n"))
			program.Expect(t, "how many entries", len(got), len(s.entries))
			for _, entry := range got {
				var read struct {
					ID json.Number
					At string
				}
				program.Must(t, json.Unmarshal([]byte(entry), &read))
				last = read.ID.String()
				program.Expect(t, "whether "+read.At+" is a time", program.IsTime(read.At), true)
			}
		})
	}
	open := program.Serve(t)
	open.Do(t, "POST", "/api/users", sent, "X-Request-Id: r1")
	program.Expect(t, "without keys", historyOf(t, open, 1), "["+was("created", 1, `"by":null,"request":"r1"`)+"]")
	p.Stop(t)
	program.Forbid(t, p.Log(), "@", hrKey)
}

// Only whoever may write learns who has written.
func TestWhoHasChangedWhatIsForThoseWithFullAccess(t *testing.T) {
	t.Parallel()
	p := withKeys(t, "hr-sync "+hrKey)
	const full, reads = "X-API-Key: " + hrKey, "X-API-Key: " + readKey
	p.Do(t, "POST", "/api/users", sent, full, "X-Request-Id: r1")
	p.Do(t, "POST", "/api/users", both, full)
	p.Do(t, "DELETE", "/api/users/2", "", full)
	for _, path := range []string{"/api/users/1/changes", "/api/users/a@b/changes?limit=0", "/api/users/deleted?x=y"} {
		p.Do(t, "GET", path, "", reads).Expect(t, 403, program.ErrorBody("Only a key with full access can see who changed what"))
	}
	for key, by := range map[string][2]string{full: {byHR + ",", `,"by":"key:hr-sync","request":"…"`}, reads: {"", ""}} {
		want := `{"changes":[{"cursor":"…","op":"created","id":1,"at":"…",` + by[0] + `"user":{"id":1,…}},…` +
			`{"cursor":"…","op":"deleted","id":2,"at":"…"` + by[1] + `}],"next":"…"}`
		feed := p.Feed(t, "", want, key)
		program.Forbid(t, feed, "before", "after")
		if key == reads {
			program.Forbid(t, feed, "hr-sync", "r1")
		}
	}
}

// pages follows the links of a list from page to page.
func pages(t *testing.T, p *program.Program, path string) (bodies []string) {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	for next := "?" + query; next != ""; {
		answer := p.Do(t, "GET", path+next, "")
		answer.Expect(t, 200, "…")
		program.ExpectHeader(t, p.Do(t, "HEAD", path+next, ""), "Link", answer.Header.Get("Link"))
		bodies, next = append(bodies, answer.Body), answer.Next()
		if len(bodies) > 50 {
			t.Fatalf("after %d pages follows %q", len(bodies), next)
		}
	}
	return bodies
}

func TestAHistoryIsReadInPagesNewestFirst(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "0", "a@b")
	p.Create(t, "other", "b@b")
	for i := range 4 {
		p.Change(t, 1, fmt.Sprintf(`{"name":"%d"}`, i+1))
	}
	p.Delete(t, 2)
	names := regexp.MustCompile(`"after":\{"name":"(\d+)|"op":"(created)"`)
	for query, want := range map[string]string{
		"": `["4321created"]`, "?limit=2": `["43" "21" "created"]`, "?limit=5": `["4321created"]`, "?limit=4": `["4321" "created"]`,
	} {
		for _, who := range []string{"1", "a@b"} {
			var shown []string
			for _, body := range pages(t, p, "/api/users/"+who+"/changes"+query) {
				page := ""
				for _, match := range names.FindAllStringSubmatch(body, -1) {
					page += match[1] + match[2]
				}
				shown = append(shown, page)
			}
			program.Expect(t, "the pages of "+who+" with "+query, fmt.Sprintf("%q", shown), want)
		}
	}
	entries := historyOf(t, p, 1)
	p.Do(t, "GET", "/api/users/1/changes?before="+cursorOf(entries[3]), "").Expect(t, 200, `{"changes":[`+entries[4]+`]}`)
	p.Do(t, "GET", "/api/users/1/changes?before="+cursorOf(entries[4]), "").Expect(t, 200, `{"changes":[]}`)
	p.Do(t, "GET", "/api/users/b@b/changes", "").Expect(t, 404, noUser) // nobody has it any more
	program.Expect(t, "the history of a deleted user", historyOf(t, p, 2), "["+was("deleted", 2, "…")+" "+was("created", 2, "…")+"]")
	for i := range 101 {
		p.Change(t, 1, fmt.Sprintf(`{"name":"many %d"}`, i))
	}
	program.Expect(t, "how many entries come without a limit", len(historyOf(t, p, 1)), 100)
	for i, length := range []int{50 << 10, 50 << 10, 50 << 10, 300 << 10} { // an entry has the name before and after
		p.Change(t, 1, fmt.Sprintf(`{"name":"%d%s"}`, i, strings.Repeat("n", length)))
	}
	for i, body := range pages(t, p, "/api/users/1/changes?limit=1000") {
		entries := strings.Count(body, `"cursor"`)
		if entries == 0 || len(body) > 256<<10 && entries > 1 {
			t.Errorf("page %d has %d entries in %d bytes", i, entries, len(body))
		}
	}
}

func TestWhatHistoriesRefuse(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	cursor := cursorOf(historyOf(t, p, 1)[0])
	other := program.Serve(t)
	other.Create(t, "Ada", "ada@example.org")
	foreign := cursorOf(historyOf(t, other, 1)[0])
	const (
		limit      = `{"error":"The parameter limit must be a whole number from 1 to 1000"}`
		before     = `{"error":"The parameter before must be a cursor, such as that of an entry"}`
		history    = "GET /api/users/1/changes"
		deleted    = "GET /api/users/deleted"
		notDeleted = `{"error":"No deletion of this user is kept: there is nothing to restore"}`
	)
	for _, s := range []scenario{
		{"nobody has a history", "GET /api/users/9/changes", "", 404, noUser},
		{"nobody's email has no history", "GET /api/users/x@y/changes", "", 404, noUser},
		{"a limit of 0", history + "?limit=0", "", 400, limit},
		{"an empty cursor", deleted + "?before=", "", 400, before},
		{"a cursor of another database", history + "?before=" + foreign, "", 410, gone},
		{"a malformed cursor", history + "?before=" + cursor + "x", "", 410, gone},
		{"words in a history", history + "?q=x", "", 400,
			`{"error":"Unknown parameter \"q\": the history of a user takes limit and before"}`},
		{"another parameter of deleted users", deleted + "?name=x", "", 400,
			`{"error":"Unknown parameter \"name\": the list of deleted users takes limit, before and q"}`},
		{"no words", deleted + "?q=%20", "", 400, `{"error":"The parameter q must be …"}`},
		{"nobody is erased", "DELETE /api/users/9/changes", "", 404, noUser},
		{"another method of a history", "PUT /api/users/1/changes", "", 405, noMethod},
		{"another method of a restore", "GET /api/users/1/restore", "", 405, noMethod},
		{"a restore by email", "POST /api/users/ada@example.org/restore", "", 404, notDeleted},
		{"a restore of nobody", "POST /api/users/9/restore", "", 404, notDeleted},
		{"a browser on another site erases nobody", "DELETE /api/users/1/changes\nOrigin: https://evil.example", "", 403, crossed},
	} {
		t.Run(s.name, func(t *testing.T) {
			answer := p.Ask(t, s.request, s.body)
			answer.Expect(t, s.status, s.answer)
			expectProblem(t, p.Ask(t, s.request, s.body, "Accept: "+problemType), answer)
			if s.status == 405 {
				allow := map[bool]string{true: "GET, HEAD, DELETE", false: "POST"}[strings.HasPrefix(s.request, "PUT")]
				program.ExpectHeader(t, answer, "Allow", "…"+allow+"…")
			}
		})
	}
	program.Expect(t, "how many entries there are", len(historyOf(t, p, 1)), 1)
}

func TestDeletedUsersAreListedAsTheyWere(t *testing.T) {
	t.Parallel()
	p := withKeys(t, "hr-sync "+hrKey, "USER_FIELDS=city")
	const key, path = "X-API-Key: " + hrKey, "/api/users/deleted"
	p.Do(t, "GET", path, "", key).Expect(t, 200, "[]")
	for i, name := range []string{"José Müller", "Ада", "Łukasz", "Zoe", "Bob", "Eve"} {
		body := fmt.Sprintf(`{"name":"%s","email":"%d@b","city":"Köln %d"}`, name, i+1, i+1)
		p.Do(t, "POST", "/api/users", body, key).Expect(t, 201, "…")
		p.Do(t, "DELETE", fmt.Sprint("/api/users/", i+1), "", key).Expect(t, 204, "")
	}
	p.Do(t, "POST", "/api/users/4/restore", "", key).Expect(t, 201, "…") // is there again
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (id, name, email) VALUES (5, 'Bob', '5@b')")
	p.Do(t, "DELETE", "/api/users/6/changes", "", key).Expect(t, 204, "") // erased
	const jose = `{"id":1,"name":"José Müller","email":"1@b","created_at":"…","city":"Köln 1","deleted_at":"…","deleted_by":"key:hr-sync"}`
	for query, want := range map[string]string{
		"":                      `[{"id":3,…},{"id":2,…},` + jose + `]`,
		"?q=jose+MULLER":        "[" + jose + "]",
		"?q=koln":               `[{"id":3,…},{"id":2,…},` + jose + `]`,
		"?q=%D0%B0%D0%B4%D0%B0": `[{"id":2,…}]`, // in lower case
		"?q=lukasz&limit=1":     `[{"id":3,…}]`,
		"?q=zoe":                "[]",
	} {
		p.Do(t, "GET", path+query, "", key).Expect(t, 200, want)
	}
	first := p.Do(t, "GET", path+"?q=koln&limit=2", "", key)
	first.Expect(t, 200, `[{"id":3,…},{"id":2,…}]`)
	program.Expect(t, "what follows", first.Next(), "?q=koln&limit=2&before=…")
	last := p.Do(t, "GET", path+first.Next(), "", key)
	last.Expect(t, 200, "["+jose+"]")
	program.ExpectHeader(t, last, "Link", "")
	p.Do(t, "DELETE", "/api/users/4", "", key).Expect(t, 204, "") // once more
	p.Do(t, "GET", path, "", key).Expect(t, 200, `[{"id":4,…},{"id":3,…},{"id":2,…},`+jose+`]`)
}

// Each is a request to a program of which the users 1 and 2 were deleted, and 3, grace@b with the badge 3, is there.
var restores = []scenario{
	{"what was there is there again", "", "", 201, `{"id":1,"name":"Ada","email":"ada@b","created_at":"2024-01-02 03:04:05","badge":"1",…}`},
	{"fields of the body come first", "", `{"name":"A","badge":null}`, 201,
		`{"id":1,"name":"A","email":"ada@b","created_at":"2024-01-02 03:04:05","badge":null,…}`},
	{"another email may be given", "", `{"email":"new@b"}`, 201, `{"id":1,"name":"Ada","email":"new@b",…}`},
	{"an email that is used meanwhile is a conflict", "", `{"email":"grace@b"}`, 409, emailUsed},
	{"a value that is used meanwhile is a conflict", "", `{"badge":"3"}`, 409, program.ErrorBody("badge is already used by another user")},
	{"an empty name is refused", "", `{"name":""}`, 400, required},
	{"an unknown key is named", "", `{"nmae":"x"}`, 400, `{"error":"Unknown key \"nmae\": only name, email…badge can be changed"}`},
	{"an id is refused", "", `{"id":1}`, 400, `{"error":"id, created_at and updated_at cannot be changed"}`},
	{"somebody without a time has none again", "2", "", 201, `{"id":2,"name":"Alan","email":"alan@b","created_at":"","badge":null,…}`},
	{"who is there is not restored", "3", "", 409, program.ErrorBody("The user exists, and only one who was deleted can be restored")},
	{"whose history was erased is not restored", "4", "", 404, program.ErrorBody("No deletion of this user is kept: there is nothing to restore")},
}

func TestDeletedUsersAreRestored(t *testing.T) {
	t.Parallel()
	const setting = "USER_FIELDS=badge,updated_at"
	p := program.Serve(t, setting)
	p.Run(t, "add-field", "--unique", "badge").MustSucceed(t)
	p = p.Again(t, setting)
	other := program.OpenOther(t, p.DatabasePath())
	for _, s := range restores {
		t.Run(s.name, func(t *testing.T) {
			other.Empty()
			other.Insert(`INSERT INTO users (id, name, email, created_at, badge, updated_at) VALUES
				(1, 'Ada', 'ada@b', '2024-01-02 03:04:05', '1', '2024-01-02 03:04:05'), (2, 'Alan', 'alan@b', NULL, NULL, NULL),
				(3, 'Grace', 'grace@b', '2024-01-02 03:04:05', '3', NULL), (4, 'Eve', 'eve@b', '2024-01-02 03:04:05', NULL, NULL)`)
			for _, id := range []int64{1, 2, 4} {
				p.Delete(t, id)
			}
			p.Do(t, "DELETE", "/api/users/4/changes", "").Expect(t, 204, "")
			before := p.Do(t, "GET", "/api/users", "").Body
			path := "/api/users/" + cmp.Or(s.request, "1")
			answer := p.Do(t, "POST", path+"/restore", s.body)
			answer.Expect(t, s.status, s.answer)
			if s.status != 201 {
				expectProblem(t, p.Do(t, "POST", path+"/restore", s.body, "Accept: "+problemType), answer)
				p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
				return
			}
			program.ExpectHeader(t, answer, "Location", "../"+cmp.Or(s.request, "1"))
			p.Do(t, "GET", path, "").Expect(t, 200, answer.Body)
			program.ExpectHeader(t, answer, "ETag", p.Do(t, "GET", path, "").Header.Get("ETag"))
			program.Expect(t, "updated_at", answer.Body, `…"updated_at":"20…"}`)
			program.Forbid(t, answer.Body, `"updated_at":"2024-01-02`)
			p.ExpectUsers(t, answer.User(t).Name, "Grace")
		})
	}
	program.Expect(t, "whether a new user comes after them", p.Create(t, "New", "new@x") > 4, true)
	p = p.Again(t) // does not serve the fields any more
	p.Delete(t, 3)
	p.Do(t, "POST", "/api/users/3/restore", "").Expect(t, 201, `{"id":3,"name":"Grace","email":"grace@b","created_at":"2024-01-02 03:04:05"}`)
}

// Of some who restore a user at once, through two processes, one does.
func TestAUserIsRestoredOnce(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	both := []*program.Program{p, program.Serve(t, "DATA_DIR="+p.DataDir)}
	for round := range program.Times(10, 100) {
		id := p.Create(t, "Ada", fmt.Sprint(round, "@b"))
		p.Delete(t, id)
		restore := fmt.Sprintf("POST /api/users/%d/restore", id)
		program.Expect(t, "who restores", atOnce(t, both, slices.Repeat([]string{restore}, 8), ""), map[string]int{"POST 201": 1, "POST 409": 7})
	}
}

// Nothing is left of the values and of who has written them, but the feed goes on where it was.
func TestAHistoryIsErased(t *testing.T) {
	t.Parallel()
	p := withKeys(t, "sekret-author "+hrKey)
	const key = "X-API-Key: " + hrKey
	ask := func(request, body string) program.Answer {
		return p.Ask(t, request, body, key, "X-Request-Id: sekret-request")
	}
	ask(post, program.Body("first", "sekret@example.org")).Expect(t, 201, "…")
	ask(post, program.Body("other", "other@example.org")).Expect(t, 201, "…")
	ask(patch, `{"name":"second"}`).Expect(t, 200, "…")
	feed := func() string {
		body := p.Feed(t, "", `…"cursor"…"cursor"…"cursor"…`, key)
		return regexp.MustCompile(`,"by":[^}]*?("user"|\})`).ReplaceAllString(body, ",$1")
	}
	before := feed()
	ask("DELETE /api/users/sekret@example.org/changes", "").Expect(t, 204, "")
	ask("DELETE /api/users/1/changes", "").Expect(t, 204, "") // may be sent twice
	p.WaitForLog(t, "method=DELETE route=/api/users/:id/changes status=204 … user=1")
	program.Expect(t, "the feed", feed(), before)
	const nothing = `"by":null,"request":null`
	program.Expect(t, "the history", historyOf(t, p, 1, key), "["+was("changed", 1, nothing)+" "+was("created", 1, nothing)+"]")
	program.Expect(t, "that of another", historyOf(t, p, 2, key), "["+was("created", 2, `"by":"key:sekret-author",…`)+"]")
	ask(patch, `{"name":"kept"}`).Expect(t, 200, "…")
	program.Expect(t, "what comes after", historyOf(t, p, 1, key)[0], was("changed", 1, `"by":"key:sekret-author",…"after":{"name":"kept"}`))

	ask("DELETE /api/users/1", "").Expect(t, 204, "")
	ask("DELETE /api/users/1/changes", "").Expect(t, 204, "")
	ask("GET /api/users/deleted", "").Expect(t, 200, "[]")
	ask("POST /api/users/1/restore", "").Expect(t, 404, "…nothing to restore…")
	p.Stop(t)
	program.Forbid(t, p.Log(), "@", "second", "kept")
}

// An import has an entry for each change and deletion, and one for all creations that are more than 10,000.
func TestAnImportIsRecordedUserByUser(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	next := read(t, p, "").Next
	const update = "?on_conflict=update"
	human := func(n int) string { return strings.ReplaceAll(program.ManyRows(n), "Person", "Human") }
	for _, s := range []struct {
		name, query, file string
		want              map[string]int
	}{
		{"10,000 creations are entries", "", program.ManyRows(10_000), map[string]int{"created": 10_000}},
		{"10,000 changes are entries, and a creation is one", update, human(10_001), map[string]int{"changed": 10_000, "created": 1}},
		{"a user whom a later row changes is created", update,
			"name,email\nx,x\n" + strings.TrimPrefix(human(600), "name,email\n") + "y,x\n", map[string]int{"created": 1}},
		{"10,002 deletions are entries, and a creation is one", update + "&on_missing=delete&max_deletes=20000",
			"name,email\nn,n\n", map[string]int{"deleted": 10_002, "created": 1}},
		{"10,001 creations and a change are two", update, program.ManyRows(10_001) + "m,n\n", map[string]int{"many": 1, "changed": 1}},
		{"of rows that the database refuses, the others are recorded", update + "&on_error=skip",
			human(2) + "l,n\nPerson 7,k\nPerson 8,j\n", map[string]int{"changed": 3}},
	} {
		if strings.HasSuffix(s.query, "on_error=skip") { // the service does not know this index
			program.OpenOther(t, p.DatabasePath()).Do("CREATE UNIQUE INDEX names ON users (name)")
		}
		p.Do(t, "POST", program.CSV+s.query, s.file).Expect(t, 200, "…")
		all, found := 0, map[string]int{}
		for _, n := range s.want {
			all += n
		}
		for _, part := range responses(t, p, "&after="+next, all) {
			next = part.Next
			for _, change := range part.Changes {
				found[change.Op]++
				program.Expect(t, "whether "+change.String()+" has no id", change.ID == 0, change.Op == "many")
			}
		}
		program.Expect(t, s.name, found, s.want)
	}
	many := p.Do(t, "GET", "/api/users?limit=1&order=desc", "").Users(t)[0].ID
	program.Expect(t, "the history of one of many", historyOf(t, p, many), "[]")
	p.Delete(t, many)
	program.Expect(t, "and once it is deleted", historyOf(t, p, many), "["+was("deleted", int(many), "…")+"]")
}

// A client that keeps a copy must export again; what people ask for stays.
func TestARestartOfChangesLeavesHistories(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@b")
	p.Create(t, "Alan", "alan@b")
	p.Delete(t, 2)
	cursor := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	before := historyOf(t, p, 1)[0]
	program.Expect(t, "the end", p.Run(t, "changes", "restart"), program.Outcome{Stderr: "beginning the feed of changes again, in users_changes, " +
		"for users in …\ndone: every client of GET /api/changes exports all users again\n"})
	p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, gone)
	p.Do(t, "GET", "/api/users/1/changes?before="+cursorOf(before), "").Expect(t, 410, gone)
	program.Expect(t, "the history", historyOf(t, p, 1), "["+strings.Replace(before, cursorOf(before), "…", 1)+"]")
	p.Do(t, "GET", "/api/users/deleted", "").Expect(t, 200, `[{"id":2,"name":"Alan",…}]`)
	p.Do(t, "POST", "/api/users/2/restore", "").Expect(t, 201, "…")
	next := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	p.Change(t, 1, `{"name":"C"}`)
	p.Feed(t, "?after="+next, `…"changed","id":1,…"name":"C",…}],"next":…`)
}
