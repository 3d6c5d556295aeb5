package commands

import (
	"bufio"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"users-api/config"
)

// pipe returns a pipe as a supervisor gives one for stderr.
func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	if err := reader.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

func settings(format string) config.Config { return config.Config{LogFormat: format} }

var long = strings.Repeat("x", 1000)

func TestAWarningTakesTheGatheredLinesWithItAtOnce(t *testing.T) {
	reader, writer := pipe(t)
	logger, _ := newLog(writer, settings("text"), time.Hour)
	lines := bufio.NewScanner(reader)
	for _, log := range []func(string, ...any){logger.Warn, logger.Error, logger.With("a", 1).WithGroup("g").Warn} {
		logger.Info("gathered")
		log("urgent")
		for lines.Scan() && !strings.Contains(lines.Text(), "urgent") {
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("the warning did not come: %v", err)
		}
	}
}

func TestLinesThatAreGatheredAreWrittenInTheirOrderBeforeTheEnd(t *testing.T) {
	reader, writer := pipe(t)
	logger, log := newLog(writer, settings("text"), time.Hour)
	for i := range 100 {
		logger.Info("line", "number", i)
	}
	log.close(30 * time.Second)
	_ = writer.Close()
	lines := bufio.NewScanner(reader)
	for i := range 100 {
		if lines.Scan(); !strings.HasSuffix(lines.Text(), "number="+strconv.Itoa(i)) {
			t.Fatalf("line %d is %q", i, lines.Text())
		}
	}
}

func TestClosingTheLogDoesNotWaitForAReaderThatStalls(t *testing.T) {
	_, writer := pipe(t)
	logger, log := newLog(writer, settings("text"), 0)
	for range 100 { // more than the pipe takes
		logger.Info(long)
	}
	closed := make(chan struct{})
	go func() { log.close(time.Millisecond); close(closed) }()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("it waits")
	}
}

var dropped = map[string]*regexp.Regexp{
	"text": regexp.MustCompile(`^time=\S+ level=WARN msg="log lines were dropped" count=(\d+)$`),
	"json": regexp.MustCompile(`^{"time":"[^"]+","level":"WARN","msg":"log lines were dropped","count":(\d+)}$`),
}

func TestEveryLineIsWrittenOrCountedWhenTheReaderComesBack(t *testing.T) {
	for format, pattern := range dropped {
		t.Run(format, func(t *testing.T) {
			reader, writer := pipe(t)
			logger, log := newLog(writer, settings(format), 0)
			const all = 3 * maxUnwritten / 1000
			for range all { // this ends although nothing reads the log meanwhile
				logger.Info(long)
			}
			log.mu.Lock()
			if len(log.lines) > maxUnwritten {
				t.Errorf("%d bytes wait in memory", len(log.lines))
			}
			log.mu.Unlock()
			go func() { log.close(30 * time.Second); _ = writer.Close() }()
			written, counted := 0, 0
			for lines := bufio.NewScanner(reader); lines.Scan(); {
				if match := pattern.FindStringSubmatch(lines.Text()); match != nil {
					count, _ := strconv.Atoi(match[1])
					counted += count
				} else {
					written++
				}
			}
			if written+counted != all || counted == 0 {
				t.Errorf("of %d lines %d were written and %d counted", all, written, counted)
			}
		})
	}
}

func TestLinesThatCannotBeWrittenAreCountedToo(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("needs Linux's /dev/full: %v", err)
	}
	defer full.Close() //nolint:errcheck // nothing can be written to it
	reader, writer := pipe(t)
	log := &lineLog{out: full, direct: newHandler(full, settings("text")), filled: make(chan struct{}, 1)}
	write := func(lines ...string) {
		for _, line := range lines {
			_, _ = log.Write([]byte(line + "\n"))
		}
		log.writeLines()
	}
	write("1", "2")
	write("3")
	log.out, log.direct = writer, newHandler(writer, settings("text")) // there is room again
	write("4")
	write("5")
	_ = writer.Close()
	text, err := io.ReadAll(reader)
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) != 4 || lines[0] != "4" || !strings.HasSuffix(lines[1], "count=3") || lines[2] != "5" {
		t.Errorf("it wrote %q, %v", text, err)
	}
}
