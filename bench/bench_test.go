package main

import (
	"strings"
	"testing"
	"time"
)

func TestMedianIsTheMiddle(t *testing.T) {
	for want, values := range map[float64][]float64{0: nil, 7: {7}, 2.5: {4, 1, 2, 3}, 3: {9, 3, 1}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %v, want %v", values, got, want)
		}
	}
}

func TestRatioComparesMediansAndSpreadsByRound(t *testing.T) {
	got := ratio([]float64{20, 30, 100}, []float64{10, 10, 20})
	if want := (spread{median: 3, min: 2, max: 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ratio([]float64{1}, nil); got != (spread{}) {
		t.Errorf("against nothing: %v", got)
	}
}

func TestFiguresOfWrk(t *testing.T) {
	f, err := parseFigures("Running 3s test\nfigures requests=300 microseconds=2000000 p50=1500 p99=9000 refused=100 broken=0\n")
	if err != nil {
		t.Fatal(err)
	}
	if f.perSecond() != 100 || f.p99 != 9*time.Millisecond {
		t.Errorf("%.0f/s and p99 %s", f.perSecond(), f.p99)
	}
	if f.trouble() == "" {
		t.Error("refusals are not told")
	}
	if _, err := parseFigures("unable to connect"); err == nil {
		t.Error("no figures, and no error")
	}
}

func TestNumbersForPeople(t *testing.T) {
	for want, value := range map[string]float64{"0.85": 0.851, "12.3": 12.34, "999": 998.6, "18,100": 18100.4, "1,000,000": 1e6} {
		if got := number(value); got != want {
			t.Errorf("number(%v) = %s, want %s", value, got, want)
		}
	}
}

// reportOf is a report of one work with these figures.
func reportOf(key string, lowerIsBetter bool, figures map[string]float64) report {
	samples := map[string][]sample{}
	for server, figure := range figures {
		samples[server] = []sample{{Value: figure, P99: 1000 / figure}}
	}
	return report{Work: []outcome{{Key: key, Title: key, LowerIsBetter: lowerIsBetter, Samples: samples}}}
}

func TestGoalsAgainstTheBestPeer(t *testing.T) {
	tests := []struct {
		goal          goal
		lowerIsBetter bool
		figures       map[string]float64
		reached       bool
	}{
		{goal{against: bestPeer, factor: 2}, false, map[string]float64{ours: 100, tutorial: 10, pocketBase: 51, bare: 900}, false},
		{goal{against: bestPeer, factor: 2}, false, map[string]float64{ours: 100, tutorial: 10, pocketBase: 50, bare: 900}, true},
		{goal{against: bestPeer, factor: 2}, true, map[string]float64{ours: 10, tutorial: 50, pocketBase: 19}, false},
		{goal{against: bestPeer, factor: 2}, true, map[string]float64{ours: 10, tutorial: 50, pocketBase: 20}, true},
		{goal{against: tutorial, factor: 10, p99: true}, false, map[string]float64{ours: 100, tutorial: 10}, true},
		{goal{bound: 30}, true, map[string]float64{ours: 31}, false},
		{goal{bound: 30}, true, map[string]float64{ours: 30}, true},
	}
	for _, test := range tests {
		test.goal.work = "work"
		v, known := test.goal.judge(reportOf("work", test.lowerIsBetter, test.figures))
		if !known || v.reached != test.reached {
			t.Errorf("%+v with %v: %+v, known %v", test.goal, test.figures, v, known)
		}
	}
}

func TestGoalWithoutFiguresIsNotJudged(t *testing.T) {
	if _, known := (goal{work: "work", against: tutorial, factor: 2}).judge(reportOf("work", false, map[string]float64{ours: 1})); known {
		t.Error("judged against a peer that was not measured")
	}
}

func TestEveryGoalNamesWork(t *testing.T) {
	keys := map[string]bool{}
	for _, w := range workloads(fullSizes(3)) {
		keys[w.key] = true
	}
	for _, g := range goals {
		if !keys[g.work] {
			t.Errorf("no work has the key %q", g.work)
		}
	}
	for _, key := range charted {
		if !keys[key] {
			t.Errorf("the chart shows %q, which is no work", key)
		}
	}
}

func TestChartEscapesAndStaysOnItsScale(t *testing.T) {
	r := reportOf("list-1000", false, map[string]float64{ours: 1e9, tutorial: 0.001})
	r.Work[0].Title = "a < b"
	r.Servers = []loaded{{Name: ours}, {Name: tutorial}}
	image := r.chart()
	if !strings.Contains(image, "a &lt; b") || strings.Contains(image, `width="-`) {
		t.Error(image)
	}
	if place(1e9) > chartWidth-valueWidth || place(0) < labelWidth {
		t.Error("a bar leaves the chart")
	}
}
