package routes

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/tests/program"
)

// parts is a handler that sends a response in parts of the sizes in the query. With flush, it flushes after each part,
// and then waits until the client has it.
func parts(arrived <-chan struct{}) gin.HandlerFunc {
	return func(c *gin.Context) {
		if length := c.Query("length"); length != "" {
			c.Header("Content-Length", length)
		}
		for size := range strings.SplitSeq(c.Query("sizes"), ",") {
			_, _ = c.Writer.Write(part(size))
			if c.Query("flush") != "" {
				_ = http.NewResponseController(c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap()).Flush()
				<-arrived
			}
		}
	}
}

// part is what a part holds: if one is lost or repeated, the others move.
func part(size string) []byte {
	length, _ := strconv.Atoi(size)
	return bytes.Repeat([]byte("abcdefghijk"), length/11+1)[:length]
}

// A response is sent in parts, each with a time limit of its own. It must come whole whatever the parts are, and before the
// next response of the connection.
func TestAResponseIsCompleteHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	all := []string{"0", "1", "4096", "4097", "1,4096", "1,70000,3", "2048,2048", "2047,4096,1", "2000,2000,4096,4096"}
	for size := 3500; size < 4200; size++ { // with the headers, some fill net/http's buffer to its last byte
		all = append(all, fmt.Sprint(size), fmt.Sprint("1,", size))
	}
	for _, isKnown := range []bool{true, false} {
		t.Run(fmt.Sprintf("the length is known: %t", isKnown), func(t *testing.T) {
			t.Parallel()
			s := startWith(t, parts(nil))
			for _, sizes := range all {
				want, path := "", "/?sizes="+sizes
				for size := range strings.SplitSeq(sizes, ",") {
					want += string(part(size))
				}
				if isKnown {
					path += fmt.Sprint("&length=", len(want))
				}
				old := s.Dial(t) // the end of the connection is that of the response
				old.Send("GET %s HTTP/1.0\r\n\r\n", path)
				text, clean := old.Rest()
				_, text, _ = strings.Cut(text, "\r\n\r\n")
				if got := s.Do(t, "GET", path, "").Body; got != want || text != want || !clean {
					t.Fatalf("%s: %d bytes came, with HTTP/1.0 %d, want %d", path, len(got), len(text), len(want))
				}
			}
		})
	}
}

// What a handler flushes must not wait for what it writes next.
func TestWhatIsFlushedArrivesAtOnce(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := startWith(t, parts(arrived))
	client := http.Client{Timeout: program.Patience}
	for _, sizes := range []string{"1", "4095,4096,4097", "0,10000", "3,4096,4096,5", "5000,4096"} {
		answer, err := client.Get(s.URL + "/?flush=yes&sizes=" + sizes)
		program.Must(t, err)
		for size := range strings.SplitSeq(sizes, ",") {
			got := make([]byte, len(part(size)))
			if _, err := io.ReadFull(answer.Body, got); err != nil || !bytes.Equal(got, part(size)) {
				t.Fatalf("of %s, a part of %s bytes arrives as %.20q: %v", sizes, size, got, err)
			}
			arrived <- struct{}{}
		}
		_ = answer.Body.Close()
	}
}
