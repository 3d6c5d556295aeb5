package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What wrk cannot do is done here: lists that come in pages, one request after another of different kinds, and lists
// so slow that those under way at the end of the time must be counted too.

const readBuffer = 256 << 10

// newClient returns a client that keeps as many connections as it is given, and asks for no compression.
func newClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: connections,
		DisableCompression:  true,
		ReadBufferSize:      readBuffer,
	}}
}

// get reads an answer to its end and returns its length. Only 200 is no error.
func get(ctx context.Context, client *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	return send(client, request, http.StatusOK, io.Discard)
}

// send reads the answer to a request to its end, into a writer.
func send(client *http.Client, request *http.Request, status int, into io.Writer) (int, error) {
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed {
		return 0, fmt.Errorf("%w: %s %s: %s", errUnavailable, request.Method, request.URL.RequestURI(), answer.Status)
	}
	if answer.StatusCode != status {
		return 0, fmt.Errorf("%s %s: %s", request.Method, request.URL.Path, answer.Status)
	}
	// Hidden behind another type, so that io.CopyBuffer uses the large buffer and not the writer's own small one.
	length, err := io.CopyBuffer(struct{ io.Writer }{into}, answer.Body, make([]byte, readBuffer))
	return int(length), err
}

// errUnavailable is the answer of a server that does not have the route.
var errUnavailable = errors.New("unavailable")

// read returns the body of an answer.
func read(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	_, err = send(client, request, http.StatusOK, &body)
	return body.Bytes(), err
}

// create creates the user of a number; the numbers of one name are used once.
func create(ctx context.Context, client *http.Client, s *server, url, name string, number int) error {
	body := fmt.Sprintf(`{"name":"User %d","email":"%08x.%s@example.com"}`, number, uint32(number*2654435761), name)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+s.api.create, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	_, err = send(client, request, s.api.created, io.Discard)
	return err
}

// list reads the list of so many users, with as many requests as that takes.
func list(ctx context.Context, client *http.Client, s *server, url string, users int, into io.Writer) error {
	pages := 1
	if s.api.pageSize > 0 {
		pages = max(1, (users+s.api.pageSize-1)/s.api.pageSize)
	}
	for page := 1; page <= pages; page++ {
		address := url + s.api.list
		if pages > 1 {
			address += fmt.Sprintf("&page=%d", page)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		if _, err := send(client, request, http.StatusOK, into); err != nil {
			return err
		}
	}
	return nil
}

// countListed returns how many users a server lists: a quick list with users missing would be no achievement.
func countListed(ctx context.Context, s *server, url string, users int) (int, error) {
	var body bytes.Buffer
	err := list(ctx, newClient(1), s, url, users, &body)
	return bytes.Count(body.Bytes(), []byte(`"email":`)), err
}

// together lets clients do work again and again until the time is over, waits for what is under way then, and returns
// how often it was done and how long that took.
func together(clients int, duration time.Duration, work func() error) (done int, elapsed time.Duration, err error) {
	var count atomic.Int64
	var failed error
	var once sync.Once
	var all sync.WaitGroup
	started := time.Now()
	for range clients {
		all.Go(func() {
			for ok := true; ok; ok = time.Since(started) < duration {
				if err := work(); err != nil {
					once.Do(func() { failed = err })
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	return int(count.Load()), time.Since(started), failed
}
