package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// measurement measures one server once. The database has as many users as the workload says.
type measurement func(ctx context.Context, b *bench, s *server, users int) (sample, error)

// sample is the figure of one round.
type sample struct {
	Value   float64 `json:"value"`
	P99     float64 `json:"p99,omitempty"` // ms
	Trouble string  `json:"trouble,omitempty"`
}

// deletable is how many users a server can delete in a second at the most.
const deletable = 50_000

// slow is how long a list takes that wrk cannot count: too few of them are whole at the end of the time.
const slow = 100 * time.Millisecond

// bench is what the measurements share.
type bench struct {
	seeds  *seeds
	ours   *server // what the limits send comes from it
	bodies map[string]string
}

// running starts a server on a database of so many users, does work with it and removes both.
func (b *bench) running(ctx context.Context, s *server, users int, work func(*process) (sample, error)) (sample, error) {
	return b.answering(ctx, s, users, b.ours.api.list, work)
}

// answering is running, with a limit that sends what we send at this path.
func (b *bench) answering(ctx context.Context, s *server, users int, path string, work func(*process) (sample, error)) (sample, error) {
	data, err := b.seeds.copyOf(ctx, s, users)
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(data) //nolint:errcheck // all of it is removed at the end
	environment, err := b.environment(ctx, s, users, path)
	if err != nil {
		return sample{}, err
	}
	p, err := start(ctx, s, data, environment...)
	if err != nil {
		return sample{}, err
	}
	defer p.stop()
	return work(p)
}

// environment gives a limit the bytes that we send at a path.
func (b *bench) environment(ctx context.Context, s *server, users int, path string) ([]string, error) {
	if !s.isLimit() {
		return nil, nil
	}
	key := fmt.Sprintf("%d users: %s", users, path)
	if b.bodies[key] == "" {
		file := filepath.Join(b.seeds.dir, fmt.Sprintf("body-%d.json", len(b.bodies)))
		_, err := b.running(ctx, b.ours, users, func(p *process) (sample, error) {
			body, err := read(ctx, newClient(1), p.url+path)
			return sample{}, errors.Join(err, writeFile(file, body))
		})
		if err != nil {
			return nil, err
		}
		b.bodies[key] = file
	}
	return []string{"BODY=" + b.bodies[key]}, nil
}

// underWrk measures answers a second, after a second of the same load: Node compiles what is used often.
func underWrk(l load) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		return b.running(ctx, s, users, func(p *process) (sample, error) {
			if err := checkList(ctx, s, p.url, users); err != nil {
				return sample{}, err
			}
			return warmed(ctx, s, p.url, l.warmUp(l.variables...), l)
		})
	}
}

// warmUp returns a short load of the same kind. Its clients are few: what many leave unanswered when they go, a slow
// server would still be busy with while it counts.
func (l load) warmUp(variables ...string) load {
	return load{l.script, min(l.clients, 8), 1, variables}
}

// warmed runs one load, and then another that counts.
func warmed(ctx context.Context, s *server, url string, warm, l load) (sample, error) {
	if _, err := warm.wrk(ctx, s, url); err != nil {
		return sample{}, err
	}
	f, err := l.wrk(ctx, s, url)
	return sample{Value: f.perSecond(), P99: milliseconds(f.p99), Trouble: f.trouble()}, err
}

// checkList makes sure that a list is whole. The longest are not worth the time.
func checkList(ctx context.Context, s *server, url string, users int) error {
	if users > 200_000 || s.name == pocketBase && users > s.api.pageSize {
		return nil
	}
	listed, err := countListed(ctx, s, url, users)
	if err == nil && listed != users {
		err = fmt.Errorf("%s lists %d users of %d", s.name, listed, users)
	}
	return err
}

// deletions measures deletions a second. The warm-up deletes the last users, and the load the first.
func deletions(l load) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		warm := l.warmUp(fmt.Sprintf("FIRST_ID=%d", users-deletable+1))
		l.variables = []string{"FIRST_ID=1"}
		return b.running(ctx, s, users, func(p *process) (sample, error) { return warmed(ctx, s, p.url, warm, l) })
	}
}

// mixed measures lists and creations a second, of a fixed number: see load/mix.lua.
func mixed(l load, requests int) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		warm := l.warmUp("REQUESTS=200", "EMAILS=random")
		l.variables = []string{fmt.Sprintf("REQUESTS=%d", requests), "EMAILS=random"}
		return b.running(ctx, s, users, func(p *process) (sample, error) {
			figure, err := warmed(ctx, s, p.url, warm, l)
			figure.P99 = 0 // wrk corrects it for a load that lasts as long as its time
			return figure, err
		})
	}
}

// randomReads measures reads at random places: path is a format for an id or an email, and each answer has so many
// users. A limit sends the answer for the user in the middle, again and again.
func randomReads(l load, path func(api) string, by string, count int) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		last, middle := users-count+1, users/2
		l.variables = []string{"READ_PATH=" + path(s.api), "READ_BY=" + by, fmt.Sprintf("LAST_NUMBER=%d", last)}
		place := func(a api) string {
			if by == "email" {
				return fmt.Sprintf(path(a), seedEmail(middle))
			}
			return fmt.Sprintf(path(a), middle)
		}
		first := middle
		if count > 1 {
			first++ // a page begins after the id
		}
		return b.answering(ctx, s, users, place(b.ours.api), func(p *process) (sample, error) {
			if err := checkUsers(ctx, p.url+place(s.api), first, count); err != nil {
				return sample{}, err
			}
			return warmed(ctx, s, p.url, l.warmUp(append(l.variables, "SEED=2")...), l)
		})
	}
}

// checkUsers makes sure that an answer has these users, in their order, and no others.
func checkUsers(ctx context.Context, url string, first, count int) error {
	body, err := read(ctx, newClient(1), url)
	if err != nil {
		return err
	}
	if got := bytes.Count(body, []byte(`"email":`)); got != count {
		return fmt.Errorf("%s has %d users, not %d", url, got, count)
	}
	rest := body
	for number := first; number < first+count; number++ {
		_, after, found := bytes.Cut(rest, []byte(seedEmail(number)))
		if !found {
			return fmt.Errorf("%s lacks user %d, or has it in another place", url, number)
		}
		rest = after
	}
	return nil
}

// longLists measures lists a second. wrk counts what is whole when the time is over; of slow lists, and of lists in
// pages, so few are whole that those under way are waited for instead.
func longLists(clients, seconds int) measurement {
	quick := load{"lists.lua", clients, seconds, nil}
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		return b.running(ctx, s, users, func(p *process) (sample, error) {
			client := newClient(clients)
			one := func() error { return list(ctx, client, s, p.url, users, io.Discard) }
			if err := checkList(ctx, s, p.url, users); err != nil {
				return sample{}, err
			}
			started := time.Now()
			if err := one(); err != nil {
				return sample{}, err
			}
			if time.Since(started) < slow && s.api.pageSize == 0 {
				f, err := quick.wrk(ctx, s, p.url)
				return sample{Value: f.perSecond(), P99: milliseconds(f.p99), Trouble: f.trouble()}, err
			}
			done, elapsed, err := together(clients, time.Duration(seconds)*time.Second, one)
			return sample{Value: float64(done) / elapsed.Seconds()}, err
		})
	}
}

// afterCommit measures how long the list takes, in ms, that is asked for right after a creation was answered: the
// median of so many.
func afterCommit(times int) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		return b.running(ctx, s, users, func(p *process) (sample, error) {
			client, took := newClient(1), make([]float64, 0, times)
			for i := range times + times/5 {
				if err := create(ctx, client, s, p.url, "after", i); err != nil {
					return sample{}, err
				}
				started := time.Now()
				if err := list(ctx, client, s, p.url, users, io.Discard); err != nil {
					return sample{}, err
				}
				if i >= times/5 { // the first ones warm up
					took = append(took, milliseconds(time.Since(started)))
				}
			}
			return sample{Value: median(took)}, nil
		})
	}
}

// peakMemory measures the most memory, in MiB, that a server had by the time each client got one whole list.
func peakMemory(clients int) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		return b.running(ctx, s, users, func(p *process) (sample, error) {
			client := newClient(clients)
			_, _, err := together(clients, 0, func() error { return list(ctx, client, s, p.url, users, io.Discard) })
			if err != nil {
				return sample{}, err
			}
			bytes, err := p.memory("VmHWM")
			return sample{Value: bytes / (1 << 20)}, err
		})
	}
}

// startTimes measures how long a server takes, in ms, from its start to its first answer: the median of so many. Its
// database is there already, as after any start but the first.
func startTimes(starts int) measurement {
	return func(ctx context.Context, b *bench, s *server, users int) (sample, error) {
		took := make([]float64, 0, starts)
		for range starts {
			_, err := b.running(ctx, s, users, func(p *process) (sample, error) {
				took = append(took, milliseconds(p.took))
				return sample{}, nil
			})
			if err != nil {
				return sample{}, err
			}
		}
		return sample{Value: median(took)}, nil
	}
}

// idleMemory measures the memory, in MiB, of a server that has just started.
func idleMemory(ctx context.Context, b *bench, s *server, users int) (sample, error) {
	return b.running(ctx, s, users, func(p *process) (sample, error) {
		time.Sleep(500 * time.Millisecond)
		bytes, err := p.memory("VmRSS")
		return sample{Value: bytes / (1 << 20)}, err
	})
}

// binarySize measures the file to ship, in millions of bytes.
func binarySize(_ context.Context, _ *bench, s *server, _ int) (sample, error) {
	info, err := os.Stat(s.binary)
	if err != nil {
		return sample{}, err
	}
	return sample{Value: float64(info.Size()) / 1e6}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
