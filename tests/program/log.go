package program

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Log returns what the program has written to stderr.
func (p *Program) Log() string { return p.log.String() }

// tail returns the end of a log, for a message that must not push the name of its test out of sight.
func tail(log string) string { return log[max(0, len(log)-4000):] }

// LogWriter is where a service within the test writes its log.
func (p *Program) LogWriter() io.Writer { return p.log }

// WaitForLog returns once a line of the log contains a text, in which "…" stands for any text.
func (p *Program) WaitForLog(t testing.TB, text string) { t.Helper(); p.Line(t, text) }

// Line is WaitForLog, and returns the line.
func (p *Program) Line(t testing.TB, text string) string {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	context.AfterFunc(deadline, p.log.changed.Broadcast)
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	for deadline.Err() == nil {
		for line := range strings.Lines(p.log.text.String()) {
			if Matches(line, "…"+text+"…") {
				return line
			}
		}
		p.log.changed.Wait()
	}
	t.Fatalf("the log has no line with %q:\n%s", text, tail(p.log.text.String()))
	return ""
}

// logBuffer keeps a log, and finds the line that says where the program listens.
type logBuffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
	address chan string
	seen    bool
}

var listening = regexp.MustCompile(`"?address"?[=:]"?http://([^\s"]+):(\d+)`)

func newLogBuffer() *logBuffer {
	b := &logBuffer{address: make(chan string, 1)}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(data)
	b.changed.Broadcast()
	if !b.seen {
		if match := listening.FindSubmatch(b.text.Bytes()); match != nil {
			b.seen = true
			b.address <- "http://" + strings.Replace(string(match[1]), "localhost", "127.0.0.1", 1) + ":" + string(match[2])
		}
	}
	return len(data), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

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
