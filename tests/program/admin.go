package program

import (
	"regexp"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var adminAddress = regexp.MustCompile(`admin=(http://\S+)`)

// Admin returns the admin port of a program, to be asked like the program.
func Admin(t *testing.T, p *Program) *Program {
	t.Helper()
	match := adminAddress.FindStringSubmatch(p.Line(t, "msg=listening"))
	if match == nil {
		t.Fatalf("the log names no admin port:\n%s", p.Log())
	}
	return p.At(strings.Replace(match[1], "localhost", "127.0.0.1", 1))
}

// AskAdmin sends a GET to the admin port.
func AskAdmin(t *testing.T, p *Program, path string) Answer {
	t.Helper()
	return Admin(t, p).Do(t, "GET", path, "")
}

// Scrape reads the figures with Prometheus's own parser. Each has its samples by their labels.
func Scrape(t *testing.T, p *Program) map[string]map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(AskAdmin(t, p, "/metrics").Body))
	Must(t, err)
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
