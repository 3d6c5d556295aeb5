package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoalsAreJudgedByTheSamplesInTheFile(t *testing.T) {
	path, all := filepath.Join(t.TempDir(), "samples.txt"), sizesFor(options{seconds: 3}).all()
	file, _ := os.Create(path)
	for name, value := range map[string]float64{ours: 100, tutorial: 10, expressBetter: 40, bareGin: 200} {
		for round := range 6 {
			s := step{work: all[0], server: &server{Name: name}}
			if err := addSample(file, s, figure(value+float64(round), rate), errors.New("of\ntwo lines")); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := readResults(path, all)
	if err != nil || len(r.Notes) != 4 || !strings.Contains(r.Notes[0], "two lines") {
		t.Fatalf("%v, notes %q", err, r.Notes)
	}
	for want, g := range map[string]goal{
		"reached":              {against: tutorial, least: 7},
		"**not reached**":      {against: bestPeer, least: 2.6}, // 40 is the best peer's, 200 is no peer's
		"reached, not certain": {against: bestPeer, least: 2.4},
	} {
		if g.work = all[0].key; g.judge(r).Verdict != want {
			t.Errorf("%+v: %+v, want %s", g, g.judge(r), want)
		}
	}
	for _, g := range goals {
		if r.find(g.work).key == "" {
			t.Errorf("no work has the key %q", g.work)
		}
	}
}

func TestWrongAnswersAreNotMeasured(t *testing.T) {
	w := workload{path: "list", first: 7, count: 2, check: answersRight}
	for want, answer := range map[string]string{
		"":                        string(w.answer()),
		"0 users, not 2":          "[]",
		"user 7 is missing":       strings.ReplaceAll(string(w.answer()), seedEmail(7), seedEmail(9)),
		"unavailable: GET /users": "404",
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer == "404" {
				http.NotFound(w, r)
			}
			_, _ = w.Write([]byte(answer))
		}))
		defer api.Close()
		x := &subject{&process{url: api.URL}, &server{paths: map[string]string{"list": "/users"}}, w, api.Client()}
		if err := w.check(t.Context(), x); !strings.Contains(fmt.Sprint(err), cmp.Or(want, "<nil>")) {
			t.Errorf("answer %.40s: %v, want %q", answer, err, want)
		}
	}
}
