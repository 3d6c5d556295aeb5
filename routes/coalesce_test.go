package routes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/tests/program"
)

// parts is a handler that sends a response in parts of the sizes in the query. With flush, it flushes after each part,
// and then waits until the client has it.
func parts(t *testing.T, arrived <-chan struct{}) gin.HandlerFunc {
	return func(c *gin.Context) {
		if length := c.Query("length"); length != "" {
			c.Header("Content-Length", length)
		}
		for size := range strings.SplitSeq(c.Query("sizes"), ",") {
			if _, err := c.Writer.Write(part(size)); err != nil {
				t.Errorf("%s bytes: %v", size, err)
			}
			if c.Query("flush") == "" {
				continue
			}
			if err := http.NewResponseController(c.Writer).Flush(); err != nil {
				t.Error(err)
			}
			<-arrived
		}
	}
}

// part is what a part holds: if one is lost or repeated, the others move.
func part(size string) []byte {
	length, _ := strconv.Atoi(size)
	return bytes.Repeat([]byte("abcdefghijk"), length/11+1)[:length]
}

// The beginning of a response is held back until more of it is written. It must come whatever that is, and before the
// next response of the connection.
func TestAResponseIsCompleteHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	all := []string{"0", "1", "4096", "4097", "1,4096", "1,70000,3", "2048,2048", "2047,4096,1", "5000,5000", "100000",
		"2000,2000,4096,4096"}
	step := 1
	if testing.Short() {
		step = 7
	}
	for size := 3500; size < 4200; size += step { // with the headers, some fill net/http's buffer to its last byte
		all = append(all, fmt.Sprint(size), fmt.Sprint("1,", size))
	}
	for _, protocol := range []string{"HTTP/1.0", "HTTP/1.1"} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, known := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s, the length is known: %t", method, protocol, known), func(t *testing.T) {
					t.Parallel()
					s := startWith(t, parts(t, nil))
					client := connect(t, s)
					for _, sizes := range all {
						if protocol == "HTTP/1.0" && !known { // the end of the connection is that of the response
							client = connect(t, s)
						}
						client.expect(t, method, protocol, sizes, known)
					}
				})
			}
		}
	}
}

// client is a connection and what reads its responses, those to HEAD too.
type client struct {
	*program.Conn
	responses *bufio.Reader
}

func connect(t *testing.T, s *service) client {
	t.Helper()
	conn := s.Dial(t)
	_ = conn.SetReadDeadline(time.Now().Add(2 * program.Patience))
	return client{conn, bufio.NewReader(conn.Conn)}
}

// expect asks for parts, and compares what comes.
func (c client) expect(t *testing.T, method, protocol, sizes string, known bool) {
	t.Helper()
	var want []byte
	for size := range strings.SplitSeq(sizes, ",") {
		want = append(want, part(size)...)
	}
	length := ""
	if known {
		length = fmt.Sprint(len(want))
	}
	c.Send("%s /?sizes=%s&length=%s %s\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", method, sizes, length, protocol)
	answer, err := http.ReadResponse(c.responses, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("parts of %s bytes: %.100v", sizes, err)
	}
	got, err := io.ReadAll(answer.Body)
	if method == "HEAD" {
		want = nil
	}
	if !bytes.Equal(got, want) || err != nil {
		t.Fatalf("parts of %s bytes: %d bytes arrived, %d expected; %v", sizes, len(got), len(want), err)
	}
}

// What a handler flushes must not wait for what it writes next.
func TestWhatIsFlushedArrivesAtOnce(t *testing.T) {
	t.Parallel()
	for _, sizes := range []string{
		"1", "4095", "4096", "4097", "10000", "0,4096,4096", "0,10000", "3,4096,4096,5", "5000,4096",
	} {
		t.Run(sizes, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{})
			client := connect(t, startWith(t, parts(t, arrived)))
			client.Send("GET /?flush=yes&sizes=%s HTTP/1.1\r\nHost: a\r\n\r\n", sizes)
			answer, err := http.ReadResponse(client.responses, nil)
			program.Must(t, err)
			for size := range strings.SplitSeq(sizes, ",") {
				got := make([]byte, len(part(size)))
				if _, err := io.ReadFull(answer.Body, got); err != nil || !bytes.Equal(got, part(size)) {
					t.Fatalf("a part of %s bytes arrives as %.20q: %v", size, got, err)
				}
				arrived <- struct{}{}
			}
		})
	}
}
