package docs

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

var (
	// selector is a figure in a query, with its matchers; every query of the dashboard gives each figure some.
	selector = regexp.MustCompile(`\b([a-z][a-z0-9_]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"[^"]*"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	bare     = regexp.MustCompile(`\b(?:http|users_api|go|process)_[a-z0-9_]*`)
)

// dashboard is what a test needs to know of docs/grafana.json.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

func TestTheTableOfMetricsHasEveryFigureOfAScrape(t *testing.T) {
	t.Parallel()
	key := "a-key-of-the-test"
	p := program.Serve(t, "ADMIN_PORT=0", "API_KEY="+key)
	p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key)
	program.WaitFor(t, "the request is counted", func() bool { return len(program.Scrape(t, p)["http_requests_by_key_total"]) > 0 })
	shown, own := map[string]bool{}, regexp.MustCompile(`^((?:http|users_api)_\w+?)(?:_sum|_count|_bucket)?$`)
	for figure := range program.Scrape(t, p) {
		if name := own.FindStringSubmatch(figure); name != nil {
			shown[name[1]] = true
		}
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`(?:http|users_api)_.*?) \\|").FindAllStringSubmatch(read(t, "../../docs/operating.md"), -1) {
		for _, name := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = true
		}
	}
	if !maps.Equal(shown, documented) {
		t.Errorf("a scrape has\n%v\nand docs/operating.md\n%v", slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(documented)))
	}
}

func TestTheDashboardAsksForFiguresThatAScrapeHas(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/grafana.json")
	var asks dashboard
	if err == nil {
		err = json.Unmarshal(text, &asks)
	}
	if err != nil || len(asks.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(asks.Panels), err)
	}
	p := program.Serve(t, "ADMIN_PORT=0")
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"))
	program.WaitFor(t, "the request is counted", func() bool { return len(program.Scrape(t, p)["http_requests_total"]) > 0 })
	figures := program.Scrape(t, p)
	for _, panel := range asks.Panels {
		for _, target := range panel.Targets {
			t.Run(panel.Title, func(t *testing.T) { checkQuery(t, figures, target.Expr, target.LegendFormat) })
		}
	}
}

// checkQuery fails the test when a query asks for a figure or a label that a scrape does not have.
func checkQuery(t *testing.T, figures map[string]map[string]float64, query, shown string) {
	t.Helper()
	selectors := selector.FindAllStringSubmatch(query, -1)
	if asked := bare.FindAllString(query, -1); len(asked) == 0 || len(asked) != len(selectors) {
		t.Errorf("it does not give each figure its matchers: %s", query)
	}
	var used []string
	for _, match := range append(grouping.FindAllStringSubmatch(query, -1), legend.FindAllStringSubmatch(shown, -1)...) {
		used = append(used, strings.Split(match[1], ", ")...)
	}
	for _, one := range selectors {
		known := labels(figures[one[1]])
		if known == nil {
			t.Errorf("a scrape does not have %s", one[1])
		}
		asked := slices.Clone(used)
		for _, match := range matcher.FindAllStringSubmatch(one[2], -1) {
			asked = append(asked, match[1])
		}
		for _, label := range asked {
			if !known[label] {
				t.Errorf("%s does not have the label %s", one[1], label)
			}
		}
	}
}

// labels returns the labels of a figure, with the one that Prometheus adds; nil when there is no such figure.
func labels(samples map[string]float64) map[string]bool {
	if len(samples) == 0 {
		return nil
	}
	known := map[string]bool{"instance": true}
	for sample := range samples {
		for label := range strings.FieldsSeq(sample) {
			name, _, _ := strings.Cut(label, "=")
			known[name] = true
		}
	}
	return known
}
