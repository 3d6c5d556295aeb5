package headers

import (
	"slices"
	"testing"
)

func TestHeaderLinesAreOneListAndQuotesKeepACommaIn(t *testing.T) {
	lines := []string{`a, "b,c" ,,`, ``, ` d `, `"e`}
	if got, want := slices.Collect(Elements(lines)), []string{"a", `"b,c"`, "d", `"e`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for first := range Elements(lines) { // stopping early is allowed
		if first != "a" {
			t.Errorf("the first is %q", first)
		}
		break
	}
}

func TestANameIsAcceptedUnlessItsQualityIsNothing(t *testing.T) {
	for _, sent := range []struct {
		line            string
		accepts, listed bool
	}{
		{"gzip", true, true},
		{"br, GZIP;q=0.001", true, true},
		{"gzip;q=0, gzip;level=9", true, true},
		{"gzip;q=0.000", false, true},
		{"gzip;q=high", false, true},
		{`br;x=",gzip,"`, false, false},
		{"gzipped, *", false, false},
		{"gzip;", true, true},
		{"gzip;q", false, false},
		{"", false, false},
	} {
		if accepts, listed := Accepts([]string{sent.line}, "gzip"); accepts != sent.accepts || listed != sent.listed {
			t.Errorf("%q: accepted %t, listed %t", sent.line, accepts, listed)
		}
	}
}
