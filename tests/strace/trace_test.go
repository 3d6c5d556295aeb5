//go:build strace

package strace

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A call is a system call of a traced process.
type call struct {
	process      string
	name         string
	arguments    string   // as strace writes them, but for texts
	texts        []string // the paths and the data among them
	result       int64    // -1 if it failed
	began, ended moment   // a call that was killed ends never
	covers       int      // how many changes of its file a flush covers
}

// A moment is a line of a trace. Two processes may have lines of one time; in one, the lines are in their order.
type moment struct {
	at   int64 // in nanoseconds
	line int
}

var never = moment{at: math.MaxInt64}

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.at, other.at), cmp.Compare(m.line, other.line))
}

// parse reads the trace of a process.
func parse(from io.Reader, process string) (calls []*call, err error) {
	lines := bufio.NewReaderSize(from, 1<<20)
	unfinished := map[string]*call{} // by threads
	var previous *call               // if it was written on one line
	for number := 0; ; number++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		thread, rest, _ := strings.Cut(line, " ")
		stamp, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		at, err := nanoseconds(stamp)
		now := moment{at, number}
		if err != nil {
			return nil, fmt.Errorf("%w in %.100q", err, line)
		}
		if previous != nil { // what strace has measured is some nanoseconds off
			previous.ended.at, previous = min(previous.ended.at, at), nil
		}
		if strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "+++") {
			continue
		}
		rest = strings.TrimSuffix(rest, "\n")
		if _, tail, resumed := strings.Cut(rest, " resumed>"); resumed && strings.HasPrefix(rest, "<... ") {
			unfinished[thread].end(tail, now)
			delete(unfinished, thread)
			continue
		}
		name, tail, _ := strings.Cut(rest, "(")
		next := &call{process: process, name: name, began: now, ended: never, result: -1}
		calls = append(calls, next)
		if tail, begun := strings.CutSuffix(tail, " <unfinished ...>"); begun {
			next.add(tail)
			unfinished[thread] = next
			continue
		}
		if next.end(tail, now); next.ended != never {
			previous = next
		}
	}
}

// end reads the end of a call, with its result and its duration: `, 4096, 0) = 4096 <0.000012345>`.
func (c *call) end(tail string, now moment) {
	i := strings.LastIndex(tail, ") = ")
	if i < 0 {
		return // it does not return
	}
	c.add(tail[:i+1])
	result := tail[i+len(") = "):]
	if strings.HasPrefix(result, "?") {
		return // it was killed
	}
	digits := anyNumber.FindString(result)
	c.result, _ = strconv.ParseInt(digits, 0, 64) // an address may be larger, and is not asked for
	if c.ended = now; now == c.began {            // the call is on one line
		lasted, _ := nanoseconds(strings.Trim(result[strings.LastIndex(result, "<"):], "<>"))
		c.ended.at += lasted
	}
}

// add reads arguments, and decodes what strace writes as \x2f.
func (c *call) add(arguments string) {
	arguments = anyText.ReplaceAllStringFunc(arguments, func(text string) string {
		c.texts = append(c.texts, decode(text[1:len(text)-1]))
		return `""`
	})
	c.arguments += anyHex.ReplaceAllStringFunc(arguments, decode)
}

var (
	anyNumber = regexp.MustCompile(`^(0x)?-?[0-9a-f]+`)
	anyText   = regexp.MustCompile(`"[^"]*"`)
	anyHex    = regexp.MustCompile(`(\\x[0-9a-f]{2})+`)
	anyFile   = regexp.MustCompile(`(\d+)<([^>]*)>`)
)

func decode(text string) string {
	bytes, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	if err != nil {
		return text // strace itself wrote it
	}
	return string(bytes)
}

func nanoseconds(seconds string) (int64, error) {
	return strconv.ParseInt(strings.Replace(seconds, ".", "", 1), 10, 64)
}

// file returns the descriptor that a call is about, and the path that strace knows of it.
func (c *call) file() (descriptor int, path string) {
	match := anyFile.FindStringSubmatch(c.arguments)
	if match == nil {
		return -1, ""
	}
	descriptor, _ = strconv.Atoi(match[1])
	return descriptor, match[2]
}

// last returns the last argument, a number.
func (c *call) last() int64 {
	fields := strings.Split(strings.TrimSuffix(c.arguments, ")"), ", ")
	number, _ := strconv.ParseInt(fields[len(fields)-1], 0, 64)
	return number
}

// bytes is the data that a call has written.
func (c *call) bytes() string { return strings.Join(c.texts, "")[:max(0, c.result)] }
