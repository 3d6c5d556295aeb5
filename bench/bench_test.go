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
	const tutorial, express = "Gin + GORM tutorial", "Express + better-sqlite3"
	path, all := filepath.Join(t.TempDir(), "samples.txt"), works(options{seconds: 3})
	file, _ := os.Create(path)
	for name, value := range map[string]float64{ours: 100, tutorial: 10, express: 40, "bare Gin": 200} {
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
		"reached":              {Against: tutorial, Least: 7},
		"**not reached**":      {Against: bestPeer, Least: 2.6}, // 40 is the best peer's, 200 is no peer's
		"reached, not certain": {Against: bestPeer, Least: 2.4},
	} {
		if g.Work = all[0].Key; g.judge(r).Verdict != want {
			t.Errorf("%+v: %+v, want %s", g, g.judge(r), want)
		}
	}
	for _, g := range goals() {
		if r.find(g.Work).Key == "" {
			t.Errorf("no work has the key %q", g.Work)
		}
	}
}

func TestWrongAnswersAreNotMeasured(t *testing.T) {
	w := workload{Path: "list", Users: 2}
	for want, answer := range map[string]string{
		"":                  string(w.answer()),
		"0 users, not 2":    "[]",
		"user 1 is missing": strings.ReplaceAll(string(w.answer()), seedEmail(1), seedEmail(9)),
		"answered 404":      "404",
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer == "404" {
				http.NotFound(w, r)
			}
			_, _ = w.Write([]byte(answer))
		}))
		defer api.Close()
		paths := map[string]string{"list": "/users"}
		x := &subject{process: &process{url: api.URL}, server: &server{Paths: paths}, work: w, client: api.Client()}
		if err := x.check(t.Context()); !strings.Contains(fmt.Sprint(err), cmp.Or(want, "<nil>")) {
			t.Errorf("answer %.40s: %v, want %q", answer, err, want)
		}
	}
}
