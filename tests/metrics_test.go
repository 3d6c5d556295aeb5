package tests

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"users-api/tests/program"
)

var adminAddress = regexp.MustCompile(`admin=(http://\S+)`)

// adminOf returns the admin port of a program, to be asked like the program.
func adminOf(t *testing.T, p *program.Program) *program.Program {
	t.Helper()
	match := adminAddress.FindStringSubmatch(p.Line(t, "msg=listening"))
	if match == nil {
		t.Fatalf("the log names no admin port:\n%s", p.Log())
	}
	return p.At(strings.Replace(match[1], "localhost", "127.0.0.1", 1))
}

func askAdmin(t *testing.T, p *program.Program, path string) program.Answer {
	t.Helper()
	return adminOf(t, p).Do(t, "GET", path, "")
}

// scrape reads the figures with Prometheus's own parser. Each has its samples by their labels.
func scrape(t *testing.T, p *program.Program) map[string]map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(askAdmin(t, p, "/metrics").Body))
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]map[string]float64{}
	put := func(name string, labels []*dto.LabelPair, value float64) {
		if figures[name] == nil {
			figures[name] = map[string]float64{}
		}
		texts := []string{}
		for _, label := range labels {
			texts = append(texts, label.GetName()+"="+label.GetValue())
		}
		figures[name][strings.Join(texts, " ")] = value
	}
	for name, family := range families {
		for _, one := range family.GetMetric() {
			if histogram := one.GetHistogram(); histogram != nil {
				put(name+"_count", one.GetLabel(), float64(histogram.GetSampleCount()))
				put(name+"_sum", one.GetLabel(), histogram.GetSampleSum())
				put(name+"_bucket", append(one.GetLabel(), &dto.LabelPair{Name: new("le")}), 0)
				continue
			}
			put(name, one.GetLabel(), one.GetCounter().GetValue()+one.GetGauge().GetValue()+one.GetSummary().GetSampleSum())
		}
	}
	return figures
}

func TestAScrapeHasEveryFigure(t *testing.T) {
	t.Parallel()
	p := start(t, "ADMIN_PORT=0")
	for i := range 3 {
		p.Create(t, "Ada", fmt.Sprintf("ada%d@example.org", i))
	}
	p.List(t) // read
	p.List(t) // kept
	p.Create(t, "Alan", "alan@example.org")
	p.List(t) // extended; with PostgreSQL it is read again
	p.Do(t, "GET", "/api/users/1", "")
	p.Do(t, "GET", "/api/users/ada@example.org", "")
	p.Do(t, "GET", "/ada@example.org", "")
	p.Do(t, "ADA", "/api/users", "")
	p.Do(t, "BOB", "/bob", "")
	waitFor(t, "every request is counted", func() bool {
		return scrape(t, p)["http_requests_total"]["code=404 method=unknown route=unknown"] == 1
	})
	got := scrape(t, p)
	want := map[string]float64{
		"code=201 method=POST route=/api/users": 4, "code=200 method=GET route=/api/users": 3,
		"code=200 method=GET route=/api/users/:id": 1, "code=404 method=GET route=/api/users/:id": 1,
		"code=404 method=GET route=unknown": 1, "code=405 method=unknown route=unknown": 1,
		"code=404 method=unknown route=unknown": 1,
	}
	if !maps.Equal(got["http_requests_total"], want) {
		t.Errorf("the requests are %v, want %v", got["http_requests_total"], want)
	}
	lists := map[string]float64{"result=read": 1, "result=kept": 1, "result=extended": 1, "result=streamed": 0}
	if program.PostgreSQL { // any commit on the server makes it read the list again
		lists["result=read"], lists["result=kept"], lists["result=extended"] = 3, 0, 0
		got["users_api_list_total"]["result=read"] += got["users_api_list_total"]["result=kept"]
		got["users_api_list_total"]["result=kept"] = 0
	}
	if !maps.Equal(got["users_api_list_total"], lists) {
		t.Errorf("the lists are %v, want %v", got["users_api_list_total"], lists)
	}
	if n := got["http_request_duration_seconds_count"]["method=POST route=/api/users"]; n != 4 {
		t.Errorf("the duration of %v creations is known", n)
	}
	for name, n := range map[string]float64{
		"users_api_commits_total": 4, "users_api_commit_writes_sum": 4, "users_api_commit_writes_count": 4,
		"users_api_last_backup_timestamp_seconds": 0, "http_requests_in_flight": 0,
		"users_api_database_bytes": databaseBytes(t, p), "users_api_wal_bytes": float64(walBytes(t, p)),
	} {
		if value, there := got[name][""]; !there || value != n {
			t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
	for _, name := range []string{"users_api_build_info", "go_goroutines", "process_resident_memory_bytes"} {
		if len(got[name]) != 1 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	forbid(t, askAdmin(t, p, "/metrics").Body, "ada@", "ADA", "alan", "bob", "BOB", "example.org")
}

func TestTheAdminPortIsApart(t *testing.T) {
	t.Parallel()
	p := start(t, "ADMIN_PORT=0", "LISTEN_ADDRESS=127.0.0.2", "API_KEY="+fullKey, "ALLOWED_HOSTS=a.example,127.0.0.2")
	port, found := strings.CutPrefix(adminOf(t, p).URL, "http://127.0.0.2:")
	if !found {
		t.Errorf("the log says %s", adminOf(t, p).URL)
	}
	expectNobody(t, "127.0.0.1:"+port)
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		if answer := askAdmin(t, p, path); answer.Status != 200 {
			t.Errorf("the admin port answers %s with %d", path, answer.Status)
		}
		if answer := askFor(t, p, "a.example", "GET "+path); answer.Status != 404 {
			t.Errorf("the public port answers %s with %d", path, answer.Status)
		}
	}
	for _, path := range []string{"/", "/health", "/api/users"} {
		if answer := askAdmin(t, p, path); answer.Status != 404 {
			t.Errorf("the admin port answers %s with %d", path, answer.Status)
		}
	}
}

func TestThereIsNoAdminPortUnlessItIsSet(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"A=b", "ADMIN_PORT="} {
		p := start(t, setting)
		if listening, _ := p.Sockets(t); adminAddress.MatchString(p.Log()) || listening != 1 {
			t.Errorf("it listens on %d sockets and logs %s", listening, p.Log())
		}
	}
}

func TestAServiceThatStopsIsNotReady(t *testing.T) {
	t.Parallel()
	p := start(t, "ADMIN_PORT=0")
	if answer := askAdmin(t, p, "/readyz"); answer.Status != 200 || answer.Body != "ok\n" {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	conn := p.Dial(t) // a request that holds the stop up
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
	waitFor(t, "the request is under way", func() bool { return scrape(t, p)["http_requests_in_flight"][""] == 1 })
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	if answer := askAdmin(t, p, "/readyz"); answer.Status != 503 || answer.Body != "the service is stopping\n" {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	if answer := askAdmin(t, p, "/livez"); answer.Status != 200 {
		t.Errorf("/livez is answered %d", answer.Status)
	}
	conn.Send("}")
	if answer := conn.Answer(); answer.Status != 400 {
		t.Errorf("the request under way is answered %d", answer.Status)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

func TestAFileThatIsTakenAwayMakesTheServiceNotReady(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := start(t, "ADMIN_PORT=0")
	admin := adminOf(t, p)
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
	waitFor(t, "the request is under way", func() bool { return scrape(t, p)["http_requests_in_flight"][""] == 1 })
	if err := os.Remove(p.DatabasePath()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is not ready", func() bool {
		answer, err := admin.Send("GET", "/readyz", "")
		return err == nil && answer.Status == 503 && strings.Contains(answer.Body, "removed or replaced")
	})
	conn.Send("}")
	if code := p.Wait(t); code != 1 {
		t.Errorf("it ends with %d", code)
	}
}

func TestADeployersLimitsOfMemoryTakePrecedence(t *testing.T) {
	t.Parallel()
	p := start(t, "ADMIN_PORT=0", "GOMEMLIMIT=100MiB", "GOGC=50")
	figures := scrape(t, p)
	if limit := figures["go_gc_gomemlimit_bytes"][""]; limit != 100<<20 {
		t.Errorf("GOMEMLIMIT=100MiB is %.0f bytes", limit)
	}
	if percent := figures["go_gc_gogc_percent"][""]; percent != 50 {
		t.Errorf("GOGC=50 is %.0f", percent)
	}
	if limit := scrape(t, start(t, "ADMIN_PORT=0"))["go_gc_gomemlimit_bytes"][""]; limit > 1<<30 {
		t.Errorf("without GOMEMLIMIT the limit is %.0f bytes", limit)
	}
}
