package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/sync/errgroup"
)

// listsBesideWrites measures long lists while another process of the service changes 20 users a second.
func (x *subject) listsBesideWrites(ctx context.Context) ([]benchfmt.Value, error) {
	other, err := x.another(ctx)
	if err != nil {
		return nil, err
	}
	defer other.stop()
	writes, started := 0, time.Now()
	stop := everyMoment(50*time.Millisecond, func(i int) error {
		writes++
		return other.change(ctx, i*7919%x.work.Users+1)
	})
	values, err := x.longLists(ctx)
	err = errors.Join(err, stop())
	return append(values, figure(float64(writes)/time.Since(started).Seconds(), "writes/s")...), err
}

// listsAfterForeignChanges measures the list that is asked for right after another process has changed a user.
func (x *subject) listsAfterForeignChanges(ctx context.Context) ([]benchfmt.Value, error) {
	other, err := x.another(ctx)
	if err != nil {
		return nil, err
	}
	defer other.stop()
	change := func(_ *subject, ctx context.Context, id int) error { return other.change(ctx, id) }
	return answersAfter(change, 20)(x, ctx)
}

// another starts another process of the service on the database of the first.
func (x *subject) another(ctx context.Context) (_ *subject, err error) {
	s, y := *x.server, *x
	if s.Engine == "SQLite" {
		y.process, err = launch(ctx, &s, x.data)
		return &y, err
	}
	data, err := os.MkdirTemp(x.data, "another-")
	if err != nil {
		return nil, err
	}
	s.Command = s.Command[len(s.Command)-1:] // without what starts PostgreSQL
	port := x.url[strings.LastIndex(x.url, ":"):]
	s.Variables = append(slices.Clip(s.Variables), "DATABASE_URL=postgres://postgres@127.0.0.2"+port+"/postgres?sslmode=disable")
	y.process, err = launch(ctx, &s, data)
	return &y, err
}

// everyMoment calls do with 1, 2 and so on at each tick of a clock, until stop is called or do fails.
func everyMoment(tick time.Duration, do func(i int) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() (err error) {
		clock := time.NewTicker(tick)
		defer clock.Stop()
		for i := 1; err == nil; i++ {
			select {
			case <-clock.C:
				err = do(i)
			case <-ctx.Done():
				return nil
			}
		}
		return err
	})
	return func() error { cancel(); return group.Wait() }
}

// followers is how many clients follow the feed of changes at once: as many as the service permits.
const followers = 64

// besideFollowers measures creations while clients follow the feed, and how long after its answer a creation arrives at
// each of them. wrk creates as it does without followers; the bench creates the users whose arrivals it measures.
func (x *subject) besideFollowers(ctx context.Context) ([]benchfmt.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the followers end, too
	x.warmUp(ctx, x.work.Script)
	var clients errgroup.Group
	var all [followers]follower
	for i := range all {
		clients.Go(func() error { return all[i].follow(ctx, x) })
	}
	answered := map[string]time.Time{}
	create := func(number int) error {
		err := x.create(ctx, number)
		answered[laterEmail(number)] = time.Now()
		return err
	}
	stop := everyMoment(10*time.Millisecond, create)
	values, err := x.load(ctx, x.work.Script)
	if others := errors.Join(stop(), create(last), clients.Wait()); others != nil {
		return values, errors.Join(err, others)
	}
	var delays []float64
	for i := range all {
		if all[i].entries != all[0].entries {
			err = errors.Join(err, fmt.Errorf("a follower has %d entries, another %d", all[i].entries, all[0].entries))
		}
		for email, at := range all[i].arrived {
			delays = append(delays, max(0, 1000*at.Sub(answered[email]).Seconds()))
		}
	}
	slices.Sort(delays)
	values = append(values, figure(delays[len(delays)/2], arrivalP50)...)
	return append(values, figure(delays[len(delays)*99/100], arrivalP99)...), err
}

// last is the number of the last user that a follower waits for.
const last = 0

// follower is what a client has seen of the feed: how many entries, and when the users of the bench arrived.
type follower struct {
	entries int
	arrived map[string]time.Time // by their emails
}

// follow follows the feed until the last user has arrived.
func (f *follower) follow(ctx context.Context, x *subject) error {
	f.arrived = map[string]time.Time{}
	for after := ""; f.arrived[laterEmail(last)].IsZero(); {
		var answer bytes.Buffer
		if err := x.do(ctx, http.MethodGet, x.server.at("changes", after), "", http.StatusOK, &answer); err != nil {
			return err
		}
		now, body := time.Now(), answer.Bytes()
		// A creation whose client wrk has closed may be committed after the last user: a slow follower sees it, a fast one does not.
		counted, _, _ := bytes.Cut(body, []byte(laterEmail(last)))
		got := bytes.Count(counted, []byte(`"op":`))
		if f.entries += got; got == 0 {
			return errors.New("a follower misses the last user")
		}
		parts := bytes.Split(body, []byte(laterDomain))
		for _, part := range parts[:len(parts)-1] {
			f.arrived[string(part[len(part)-8:])+laterDomain] = now
		}
		_, next, _ := bytes.Cut(body, []byte(`"next":"`))
		next, _, _ = bytes.Cut(next, []byte(`"`))
		after = "&after=" + string(next)
	}
	return nil
}
