package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// subject is a server that runs on a fresh database for one work.
type subject struct {
	*process
	server *server
	work   workload
	client *http.Client
	options
}

// takeSample starts a server, measures one work and removes what it left.
func takeSample(ctx context.Context, dir string, o options, w workload, s *server) ([]benchfmt.Value, error) {
	data, err := database(ctx, dir, s, w.Users)
	defer os.RemoveAll(data) //nolint:errcheck // all of it is removed at the end
	if err != nil {
		return nil, err
	}
	if s.Seed == "" {
		if err := os.WriteFile(filepath.Join(data, "body.json"), w.answer(), 0o644); err != nil {
			return nil, err
		}
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * followers, DisableCompression: true, ReadBufferSize: 256 << 10}
	x := &subject{server: s, work: w, client: &http.Client{Transport: transport}, options: o}
	if x.process, err = launch(ctx, s, data); err != nil {
		return nil, err
	}
	defer func() { x.stop(); x.client.CloseIdleConnections() }()
	if err := x.check(ctx); err != nil {
		return nil, err
	}
	return x.measure(ctx)
}

// check makes sure that a server does the work, before it is measured: that its first answer is right, and that it
// changes users where that is the work.
func (x *subject) check(ctx context.Context) error {
	if x.work.Path != "" {
		return x.answersRight(ctx)
	}
	if slices.Contains(x.work.Variables, "WRITES=all") {
		return x.change(ctx, x.work.Users)
	}
	return nil
}

// read reads what the work reads first: the list, unless it says otherwise.
func (x *subject) read(ctx context.Context, into io.Writer) error {
	place, _ := x.work.reads()
	return x.do(ctx, http.MethodGet, x.server.at(cmp.Or(x.work.Path, "list"), place), "", http.StatusOK, into)
}

// answersRight checks the first answer of a read: a quick answer that is wrong would be no achievement. A peer's has to
// have the right users in their order and no others, ours also byte for byte what a limit sends.
func (x *subject) answersRight(ctx context.Context) error {
	var answer bytes.Buffer
	if err := x.read(ctx, &answer); err != nil {
		return err
	}
	body := answer.Bytes()
	_, users := x.work.reads()
	if got := bytes.Count(body, []byte(`"email":`)); got != len(users) {
		return fmt.Errorf("wrong answer: %d users, not %d", got, len(users))
	}
	if x.server.IsOurs() && !bytes.Equal(body, x.work.answer()) {
		return fmt.Errorf("wrong answer: %.200s", body)
	}
	for _, number := range users {
		_, after, found := bytes.Cut(body, []byte(seedEmail(number)))
		if !found {
			return fmt.Errorf("wrong answer: user %d is missing or in another place", number)
		}
		body = after
	}
	return nil
}

func (x *subject) leave(context.Context, int) error { return nil }

func (x *subject) create(ctx context.Context, number int) error {
	body := fmt.Sprintf(`{"name":"User %d","email":"%s"}`, number, laterEmail(number))
	return x.do(ctx, http.MethodPost, x.server.at("create", nil), body, x.server.Created, io.Discard)
}

func (x *subject) change(ctx context.Context, id int) error {
	return x.do(ctx, http.MethodPatch, x.server.at("one", id), `{"name":"Changed"}`, http.StatusOK, io.Discard)
}

func (x *subject) remove(ctx context.Context, id int) error {
	return x.do(ctx, http.MethodDelete, x.server.at("one", id), "", http.StatusNoContent, io.Discard)
}
