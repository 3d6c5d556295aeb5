package docs

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

var (
	// selector is a figure in a query, with its matchers; every query of the dashboard gives each figure some.
	selector = regexp.MustCompile(`\b((?:http|users_api|go|process)_[a-z0-9_]*)(?:\{([^}]*)\})?`)
	matched  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouped  = regexp.MustCompile(`\bby \(([^)]*)\)|\{\{([a-z_]+)\}\}`)
	label    = regexp.MustCompile(`[a-z_]+`)
)

// scrape returns the figures of a program that was asked with a key.
func scrape(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	const key = "a-key-of-the-test"
	p := program.Serve(t, "ADMIN_PORT=0", "API_KEY="+key)
	p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key)
	program.WaitFor(t, "the request is counted", func() bool { return len(program.Scrape(t, p)["http_requests_by_key_total"]) > 0 })
	return program.Scrape(t, p)
}

func TestTheTableOfMetricsHasEveryFigureOfAScrape(t *testing.T) {
	t.Parallel()
	shown, own := map[string]bool{}, regexp.MustCompile(`^((?:http|users_api)_\w+?)(?:_sum|_count|_bucket)?$`)
	for figure := range scrape(t) {
		if name := own.FindStringSubmatch(figure); name != nil {
			shown[name[1]] = true
		}
	}
	documented := map[string]bool{}
	text := program.ReadFile(t, "../../docs/operating.md")
	for _, row := range regexp.MustCompile("(?m)^\\| (`(?:http|users_api)_.*?) \\|").FindAllStringSubmatch(text, -1) {
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
	var asks struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	program.Must(t, json.Unmarshal([]byte(program.ReadFile(t, "../../docs/grafana.json")), &asks))
	if len(asks.Panels) == 0 {
		t.Fatal("the dashboard has no panels")
	}
	figures := scrape(t)
	for _, panel := range asks.Panels {
		for _, target := range panel.Targets {
			t.Run(panel.Title, func(t *testing.T) { checkQuery(t, figures, target.Expr, target.LegendFormat) })
		}
	}
}

// checkQuery fails the test when a query asks for a figure or a label that a scrape does not have.
func checkQuery(t *testing.T, figures map[string]map[string]float64, query, shown string) {
	t.Helper()
	used := ""
	for _, match := range grouped.FindAllStringSubmatch(query+shown, -1) {
		used += match[1] + match[2] + " "
	}
	selectors := selector.FindAllStringSubmatch(query, -1)
	if len(selectors) == 0 {
		t.Errorf("it asks for no figure: %s", query)
	}
	for _, one := range selectors {
		if len(figures[one[1]]) == 0 || one[2] == "" {
			t.Errorf("a scrape does not have %s, or it has no matchers: %s", one[1], query)
		}
		asked := label.FindAllString(used, -1)
		for _, match := range matched.FindAllStringSubmatch(one[2], -1) {
			asked = append(asked, match[1])
		}
		for sample := range figures[one[1]] { // Prometheus adds the instance
			for _, name := range asked {
				if !strings.Contains(" "+sample+" instance=", " "+name+"=") {
					t.Errorf("%s does not have the label %s: %s", one[1], name, query)
				}
			}
		}
	}
}
