package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/perf/benchfmt"
)

// check makes sure that a server does the work, before it is measured.
type check func(context.Context, *subject) error

// subject is a server that runs on a fresh database for one work.
type subject struct {
	*process
	server *server
	work   workload
	client *http.Client
}

// takeSample starts a server, measures one work and removes what it left.
func takeSample(ctx context.Context, dir string, w workload, s *server) ([]benchfmt.Value, error) {
	data, err := database(ctx, dir, s, w.users)
	defer os.RemoveAll(data) //nolint:errcheck // all of it is removed at the end
	if err != nil {
		return nil, err
	}
	if s.IsLimit() {
		if err := os.WriteFile(filepath.Join(data, "body.json"), w.answer(), 0o644); err != nil {
			return nil, err
		}
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true, ReadBufferSize: 256 << 10}
	x := &subject{server: s, work: w, client: &http.Client{Transport: transport}}
	if x.process, err = start(ctx, s, data); err != nil {
		return nil, err
	}
	defer func() { x.stop(); x.client.CloseIdleConnections() }()
	if w.check != nil {
		if err := w.check(ctx, x); err != nil {
			return nil, err
		}
	}
	return w.measure(ctx, x)
}

func (x *subject) list(ctx context.Context) error {
	return x.do(ctx, http.MethodGet, x.server.paths["list"], "", http.StatusOK, io.Discard)
}

// answersRight checks the first answer of a read: a quick answer that is wrong would be no achievement. A peer's has to
// have the right users in their order and no others, ours also byte for byte what a limit sends.
func answersRight(ctx context.Context, x *subject) error {
	var answer bytes.Buffer
	if err := x.do(ctx, http.MethodGet, x.work.at(x.server), "", http.StatusOK, &answer); err != nil {
		return err
	}
	body := answer.Bytes()
	if got := bytes.Count(body, []byte(`"email":`)); got != x.work.count {
		return fmt.Errorf("wrong answer: %d users, not %d", got, x.work.count)
	}
	if x.server.Name == ours && !bytes.Equal(body, x.work.answer()) {
		return fmt.Errorf("wrong answer: %.200s", body)
	}
	for number := range x.work.count {
		_, after, found := bytes.Cut(body, []byte(seedEmail(x.work.first+number)))
		if !found {
			return fmt.Errorf("wrong answer: user %d is missing or in another place", x.work.first+number)
		}
		body = after
	}
	return nil
}

// changes checks that a server changes users.
func changes(ctx context.Context, x *subject) error { return x.change(ctx, x.work.users) }

func (x *subject) create(ctx context.Context, number int) error {
	body := fmt.Sprintf(`{"name":"User %d","email":"%08x.after@example.com"}`, number, uint32(number*2654435761))
	return x.do(ctx, http.MethodPost, x.server.paths["create"], body, x.server.created, io.Discard)
}

func (x *subject) change(ctx context.Context, id int) error {
	path := fmt.Sprintf(x.server.paths["one"], id)
	return x.do(ctx, http.MethodPatch, path, `{"name":"Changed"}`, http.StatusOK, io.Discard)
}

func (x *subject) remove(ctx context.Context, id int) error {
	return x.do(ctx, http.MethodDelete, fmt.Sprintf(x.server.paths["one"], id), "", http.StatusNoContent, io.Discard)
}

func (x *subject) leave(context.Context, int) error { return nil }
