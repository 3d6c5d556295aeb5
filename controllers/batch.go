package controllers

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
)

const (
	maxBatch    = 1000     // requests
	maxAnswers  = 16 << 20 // bytes of the bodies that answer them
	sideBySide  = 64       // requests at once: as many as share a commit with so many clients
	usersPath   = "/api/users"
	batchPrefix = "requests[%d] "
)

// errBatchFull refuses a request of a batch whose answers are too large together.
var errBatchFull = NewError("batch_full",
	"The answers of this batch have reached %d MiB, and this request was not carried out: send it in another batch", maxAnswers>>20)

var errNoBatch = NewError("body_invalid", `The request body must be {"requests":[…]}, and nothing else`)

// Batch handles POST /api/users/batch: 200 with one response for each request, or 400, 413 or 503. The handler is that
// of all requests, with its middleware: each request of the batch is answered, counted and logged as if it had come by
// itself, from the same client and with its key.
func Batch(handler http.Handler) func(*gin.Context) error {
	return func(c *gin.Context) error {
		ctx := c.Request.Context()
		sent := batch{from: c.Request, id: c.Writer.Header().Get("X-Request-Id")}
		if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
			return err
		}
		c.Set(LoggedWrite, slog.Int("requests", len(sent.requests)))
		answers := make([]*answer, len(sent.requests))
		var side errgroup.Group
		side.SetLimit(sideBySide)
		for _, queue := range sent.queues() {
			side.Go(func() error {
				for _, at := range queue {
					if err := ctx.Err(); err != nil { // nobody waits for the others
						return err
					}
					answers[at] = carryOut(handler, sent.requests[at])
				}
				return nil
			})
		}
		_ = side.Wait() // it is the error of the context
		if err := ctx.Err(); err != nil {
			return err
		}
		return sendAnswers(c, answers)
	}
}

// batch is the body of a batch, and what its answers have in common.
type batch struct {
	requests []*http.Request
	from     *http.Request // the one that brings the batch
	id       string        // its X-Request-Id
	bytes    atomic.Int64  // of the answers
}

// UnmarshalJSON takes the requests, and refuses all if one is no request that a batch may have.
func (b *batch) UnmarshalJSON(object []byte) error {
	for key, value := range Members(object) {
		if key != "requests" || value.Kind() != '[' {
			return errNoBatch
		}
		b.requests = []*http.Request{}
		in := jsontext.NewDecoder(bytes.NewBuffer(value), allowDuplicates)
		_, _ = in.ReadToken() // the bracket
		for in.PeekKind() != ']' {
			if len(b.requests) == maxBatch {
				return NewError("body_invalid", "A batch has at most %d requests", maxBatch)
			}
			request, err := b.request(in)
			if err != nil {
				return err
			}
			b.requests = append(b.requests, request)
		}
	}
	if b.requests == nil {
		return errNoBatch
	}
	return nil
}

// request returns the request that the next object describes. It ignores no key: a misspelt "header" would leave If-Match out.
func (b *batch) request(in *jsontext.Decoder) (*http.Request, error) {
	at := len(b.requests)
	var sent struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    jsontext.Value    `json:"body"`
	}
	if err := json.UnmarshalDecode(in, &sent, json.RejectUnknownMembers(true)); err != nil {
		return nil, NewError("body_invalid", batchPrefix+"must be an object with the texts method and path, "+
			"and perhaps headers (an object of texts) and body", at)
	}
	address, err := url.ParseRequestURI(sent.Path)
	if err != nil || !strings.HasPrefix(sent.Path, usersPath) || !allowsInBatch(sent.Method, address) {
		return nil, NewError("body_invalid", batchPrefix+"must be POST /api/users, GET /api/users?limit=…, "+
			"or GET, PUT, PATCH or DELETE of /api/users/ID", at)
	}
	header := http.Header{}
	for name, value := range sent.Headers {
		header.Add(name, value)
	}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if _, given := header[name]; given {
			return nil, NewError("body_invalid", batchPrefix+"must have no key of its own: that of the batch counts", at)
		}
		header[name] = b.from.Header[name]
	}
	if header.Get("X-Request-Id") == "" {
		header.Set("X-Request-Id", b.id)
	}
	request := b.from.WithContext(context.WithValue(b.from.Context(), answered{}, &b.bytes)) // a copy
	request.Method, request.URL, request.RequestURI, request.Header = sent.Method, address, sent.Path, header
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(sent.Body)), int64(len(sent.Body))
	request.TransferEncoding = nil
	return request, nil
}

// allowsInBatch reports whether a batch may have a request: for one user, a creation, or for a page of a list.
func allowsInBatch(method string, address *url.URL) bool {
	if address.Path == usersPath {
		return method == http.MethodPost || method == http.MethodGet && address.Query().Has("limit")
	}
	id, isUser := userIn(address.Path)
	return isUser && id != "" && id != "batch" && !strings.Contains(id, "/") &&
		slices.Contains([]string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}, method)
}

// userIn returns the part of a path that names one user.
func userIn(path string) (id string, isUser bool) { return strings.CutPrefix(path, usersPath+"/") }

// queues returns the places of the requests that are carried out one after another, in each queue. Requests for one path
// share one, creations have none; if a user is named by email, an id may name the same one.
func (b *batch) queues() (queues [][]int) {
	byEmail := slices.ContainsFunc(b.requests, func(request *http.Request) bool {
		return strings.Contains(request.URL.Path, "@")
	})
	of := map[string]int{}
	for at, request := range b.requests {
		path := request.URL.Path
		if _, isUser := userIn(path); isUser && byEmail {
			path = usersPath + "/"
		}
		queue, found := of[path]
		if !found || request.Method == http.MethodPost {
			queue = len(queues)
			queues = append(queues, nil)
		}
		if request.Method != http.MethodPost {
			of[path] = queue
		}
		queues[queue] = append(queues[queue], at)
	}
	return queues
}

// carryOut returns the answer to a request. What would cut the connection of a single request is refused instead: the
// others have answers.
func carryOut(handler http.Handler, request *http.Request) (a *answer) {
	a = &answer{header: http.Header{}}
	defer func() {
		if recover() != nil { // outside of net/http, a panic would end the program
			header := http.Header{"Content-Type": {contentType}, "X-Request-Id": a.header["X-Request-Id"]}
			a = &answer{header, ErrUnexpected.Status(), ToJSON(ErrUnexpected)}
		}
	}()
	handler.ServeHTTP(a, request)
	return a
}

// answered names, in the context of a request of a batch, how many bytes the bodies of all answers have: an [*atomic.Int64].
type answered struct{}

// answer is an [http.ResponseWriter] that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(data []byte) (int, error) {
	a.body = append(a.body, data...)
	return len(data), nil
}

// spelled are the headers that Go writes in other letters than everybody else. A key of JSON has no other spelling.
var spelled = map[string]string{"Etag": "ETag", "Www-Authenticate": "WWW-Authenticate", "X-Api-Key-Access": "X-API-Key-Access"}

// sendAnswers sends the answers, with the bytes of each body as they are. Two headers are left out: they belong to another
// connection, and to a body that stands by itself.
func sendAnswers(c *gin.Context, answers []*answer) error {
	parts := net.Buffers{[]byte(`{"responses":[`)}
	for i, answer := range answers {
		headers := map[string]string{}
		for name, lines := range answer.header {
			if name != "Connection" && name != "Content-Length" {
				headers[cmp.Or(spelled[name], name)] = strings.Join(lines, ", ")
			}
		}
		head := ToJSON(struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
		}{answer.status, headers})
		if i > 0 {
			parts = append(parts, []byte(","))
		}
		if len(answer.body) > 0 {
			parts = append(parts, bytes.TrimSuffix(head, []byte("}")), []byte(`,"body":`), answer.body)
			head = []byte("}")
		}
		parts = append(parts, head)
	}
	parts = append(parts, []byte("]}"))
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	// Its WriteTo would write each part by itself.
	return sendFrom(c, http.StatusOK, contentType, struct{ io.Reader }{&parts}, int64(length))
}
