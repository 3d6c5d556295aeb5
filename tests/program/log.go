package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

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
	for hasEnded := false; !hasEnded && deadline.Err() == nil; {
		select {
		case <-p.exited:
			hasEnded = true
		default:
		}
		for line := range strings.Lines(p.log.text.String()) {
			if Matches(line, "…"+text+"…") {
				return line
			}
		}
		if !hasEnded {
			p.log.changed.Wait()
		}
	}
	t.Fatalf("the log has no line with %q:\n%s", text, tail(p.log.text.String()))
	return ""
}

// logBuffer keeps a log.
type logBuffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
}

func newLogBuffer() *logBuffer {
	b := &logBuffer{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	return b.text.Write(data)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var (
	serviceAddress = regexp.MustCompile(`listening.*address"?[=:]"?(http://[^\s"]+)`)
	adminAddress   = regexp.MustCompile(`admin=(http://\S+)`)
)

// WaitForAddress returns once the program listens.
func (p *Program) WaitForAddress(t testing.TB) {
	t.Helper()
	match := serviceAddress.FindStringSubmatch(p.Line(t, "listening…address…http://"))
	p.URL = strings.Replace(match[1], "localhost", "127.0.0.1", 1)
}

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
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	Must(t, err)
	figures := map[string]map[string]float64{}
	for _, sample := range samples {
		var labels []string
		for name, value := range sample.Metric {
			if name != model.MetricNameLabel {
				labels = append(labels, fmt.Sprintf("%s=%s", name, value))
			}
		}
		slices.Sort(labels)
		name := string(sample.Metric[model.MetricNameLabel])
		if figures[name] == nil {
			figures[name] = map[string]float64{}
		}
		figures[name][strings.Join(labels, " ")] = float64(sample.Value)
	}
	return figures
}
