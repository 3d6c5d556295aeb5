package controllers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"users-api/database"
)

const (
	maxBatch    = 1000     // requests
	maxAnswers  = 16 << 20 // bytes of the bodies that answer them
	usersPath   = "/api/users"
	batchPrefix = "requests[%d] "
)

// errBatchFull refuses a request of a batch whose answers are too large together.
var errBatchFull = NewError("batch_full",
	"The answers of this batch have reached %d MiB, and this request was not carried out: send it in another batch", maxAnswers>>20)

var errNoBatch = NewError("body_invalid", `The request body must be {"requests":[…]}, and nothing else`)

// Batch handles POST /api/users/batch: 200 with one response for each request, or 400, 413, 500 or 503. The requests are
// carried out in their order, in one transaction. The handler is that of all requests, with its middleware: each request
// is answered, counted and logged as if it had come by itself, with the headers that say who sends the batch.
func (a *API) Batch(handler http.Handler, identity []string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		sent := batch{from: c.Request, identity: identity, id: c.Writer.Header().Get("X-Request-Id")}
		if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
			return err
		}
		c.Set(LoggedWrite, slog.Int("requests", len(sent.requests)))
		isWrite := func(one *http.Request) bool { return one.Method != http.MethodGet }
		writes := slices.ContainsFunc(sent.requests, isWrite) && !database.MayOnlyRead(c.Request.Context())
		var answers *spool
		var content io.Reader
		var size int64
		defer func() { answers.close() }()
		err := a.users.Batch(c.Request.Context(), writes, func(ctx context.Context) (err error) {
			answers.close() // of the run before
			answers = a.newSpool(ctx)
			if err = a.carryOut(ctx, handler, sent.requests, answers); err == nil {
				content, size, _, err = answers.content()
			}
			return err
		})
		if err != nil {
			return err
		}
		sent = batch{}
		_ = c.Request.Body.Close() // its slot is free, however slowly the client takes the answer
		return sendFrom(c, http.StatusOK, contentType, content, size)
	}
}

// carryOut writes the answers to the requests of a batch, which it carries out one after another. One whose answer does not
// fit does nothing, like all that follow it.
func (a *API) carryOut(ctx context.Context, handler http.Handler, requests []*http.Request, answers io.Writer) error {
	size, separator, full := 0, "", context.WithValue(ctx, batchIsFull{}, true)
	_, _ = io.WriteString(answers, `{"responses":[`) // into memory
	for _, one := range requests {
		if err := ctx.Err(); err != nil { // nobody waits for the others
			return err
		}
		var answered *answer
		if size <= maxAnswers {
			err := a.users.Step(ctx, func(ctx context.Context) error {
				answered = answerTo(ctx, handler, one)
				if size += len(answered.body); size > maxAnswers || answered.status >= http.StatusBadRequest {
					return errRefused
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRefused) {
				return err
			}
		}
		if size > maxAnswers {
			answered = answerTo(full, handler, one)
		}
		if _, err := answers.Write(append([]byte(separator), answered.json()...)); err != nil {
			return err
		}
		separator = ","
	}
	_, err := io.WriteString(answers, "]}")
	return err
}

// batchIsFull names, in the context of a request, that [Handle] refuses it.
type batchIsFull struct{}

// errRefused rolls back what a request has done that is answered with an error.
var errRefused = errors.New("the request was refused")

// batch is the body of a batch, and what its requests have in common.
type batch struct {
	requests []*http.Request
	from     *http.Request // the one that brings the batch
	identity []string      // its headers that say who sent it
	id       string        // its X-Request-Id
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
			one, err := b.item(in)
			if err != nil {
				return err
			}
			b.requests = append(b.requests, one)
		}
	}
	if b.requests == nil {
		return errNoBatch
	}
	return nil
}

// item returns the request that the next object describes. It ignores no key: a misspelt "header" would leave If-Match out.
func (b *batch) item(in *jsontext.Decoder) (*http.Request, error) {
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
	one, err := http.NewRequest(sent.Method, sent.Path, bytes.NewReader(sent.Body))
	if err != nil || !strings.HasPrefix(sent.Path, usersPath) || !allowsInBatch(sent.Method, one.URL) {
		return nil, NewError("body_invalid", batchPrefix+"must be POST /api/users, GET /api/users?limit=…, "+
			"GET, PUT, PATCH or DELETE of /api/users/ID, or POST /api/users/ID/restore", at)
	}
	one.Host = b.from.Host
	for name, value := range sent.Headers {
		one.Header.Add(name, value)
	}
	for i, name := range b.identity {
		name = http.CanonicalHeaderKey(name)
		if _, given := one.Header[name]; given {
			who := "key"
			if i > 1 {
				who = "person"
			}
			return nil, NewError("body_invalid", batchPrefix+"must have no %s of its own: that of the batch counts", at, who)
		}
		one.Header[name] = b.from.Header[name]
	}
	if one.Header.Get("X-Request-Id") == "" {
		one.Header.Set("X-Request-Id", b.id)
	}
	return one, nil
}

// allowsInBatch reports whether a batch may have a request: for one user, a creation, or for a page of a list.
func allowsInBatch(method string, address *url.URL) bool {
	if address.Path == usersPath {
		return method == http.MethodPost || method == http.MethodGet && address.Query().Has("limit")
	}
	id, isUser := strings.CutPrefix(address.Path, usersPath+"/")
	if id, isRestore := strings.CutSuffix(id, "/restore"); isUser && isRestore {
		return method == http.MethodPost && id != "" && !strings.Contains(id, "/")
	}
	return isUser && id != "" && id != "batch" && id != "deleted" && !strings.Contains(id, "/") &&
		slices.Contains([]string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}, method)
}

// answerTo returns the answer to a request. What would cut the connection of a single request is refused instead: the
// others have answers.
func answerTo(ctx context.Context, handler http.Handler, one *http.Request) (a *answer) {
	request := one.Clone(ctx) // a transaction that begins again needs it as it was
	request.Body, _ = one.GetBody()
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

// json returns the answer as an object. Two headers are left out: they belong to another connection, and to a body that
// stands by itself.
func (a *answer) json() []byte {
	headers := map[string]string{}
	for name, lines := range a.header {
		if name != "Connection" && name != "Content-Length" {
			headers[cmp.Or(spelled[name], name)] = strings.Join(lines, ", ")
		}
	}
	return ToJSON(struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    jsontext.Value    `json:"body,omitempty"`
	}{a.status, headers, a.body})
}
