package routes

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	traceID  = "0af7651916cd43dd8448eb211c80319c"
	parentID = "b7ad6b7169203331"
)

// traceparents are the headers of a request, and whether they name a trace (W3C Trace Context, sections 3.2 and 4).
var traceparents = []struct {
	name   string
	sent   []string
	logged bool
}{
	{"a valid one", []string{"00-" + traceID + "-" + parentID + "-01"}, true},
	{"one that is not sampled", []string{"00-" + traceID + "-" + parentID + "-00"}, true},
	{"one with flags that are not known yet", []string{"00-" + traceID + "-" + parentID + "-ff"}, true},
	{"a later version", []string{"cc-" + traceID + "-" + parentID + "-01"}, true},
	{"a later version with more behind a dash", []string{"cc-" + traceID + "-" + parentID + "-01-what-comes"}, true},
	{"a later version with nothing behind the dash", []string{"cc-" + traceID + "-" + parentID + "-01-"}, true},
	{"a later version with more behind something else", []string{"cc-" + traceID + "-" + parentID + "-01.what"}, false},
	{"a later version with longer flags", []string{"cc-" + traceID + "-" + parentID + "-0123"}, false},
	{"a later version that is too short", []string{"cc-" + traceID + "-" + parentID + "-0"}, false},
	{"the version that is forbidden", []string{"ff-" + traceID + "-" + parentID + "-01"}, false},
	{"version 00 with more", []string{"00-" + traceID + "-" + parentID + "-01-what"}, false},
	{"version 00 with a dash at the end", []string{"00-" + traceID + "-" + parentID + "-01-"}, false},
	{"version 00 without flags", []string{"00-" + traceID + "-" + parentID}, false},
	{"a version that is no number", []string{"0x-" + traceID + "-" + parentID + "-01"}, false},
	{"flags that are no number", []string{"00-" + traceID + "-" + parentID + "-.0"}, false},
	{"a trace of zeros", []string{"00-" + strings.Repeat("0", 32) + "-" + parentID + "-01"}, false},
	{"a parent of zeros", []string{"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01"}, false},
	{"upper case in the version", []string{"CC-" + traceID + "-" + parentID + "-01"}, false},
	{"upper case in the trace", []string{"00-" + strings.ToUpper(traceID) + "-" + parentID + "-01"}, false},
	{"upper case in the parent", []string{"00-" + traceID + "-" + strings.ToUpper(parentID) + "-01"}, false},
	{"upper case in the flags", []string{"00-" + traceID + "-" + parentID + "-0A"}, false},
	{"another character in the trace", []string{"00-" + traceID[:31] + "g-" + parentID + "-01"}, false},
	{"a key of the log in the trace", []string{"00-" + traceID[:20] + " key=hr-sync-" + parentID + "-01"}, false},
	{"another character in the parent", []string{"00-" + traceID + "-" + parentID[:15] + "é-1"}, false},
	{"a shorter trace and a longer parent", []string{"00-" + traceID[1:] + "-" + parentID + "0-01"}, false},
	{"other separators", []string{"00_" + traceID + "_" + parentID + "_01"}, false},
	{"another separator before the trace", []string{"00_" + traceID + "-" + parentID + "-01"}, false},
	{"another separator behind the trace", []string{"00-" + traceID + "_" + parentID + "-01"}, false},
	{"another separator behind the parent", []string{"00-" + traceID + "-" + parentID + "_01"}, false},
	{"an empty one", []string{""}, false},
	{"none", nil, false},
	{"two", []string{"00-" + traceID + "-" + parentID + "-01", "00-" + traceID + "-" + parentID + "-01"}, false},
	{"two in one line", []string{"00-" + traceID + "-" + parentID + "-01,00-" + traceID + "-" + parentID + "-01"}, false},
}

func TestTheTraceOfARequestIsWhatItsHeaderSays(t *testing.T) {
	t.Parallel()
	for _, c := range traceparents {
		var logged []string
		for _, attribute := range traceAttributes(http.Header{"Traceparent": c.sent}) {
			logged = append(logged, attribute.String())
		}
		want := []string(nil)
		if c.logged {
			want = []string{"trace_id=" + traceID, "parent_id=" + parentID}
		}
		if !slices.Equal(logged, want) {
			t.Errorf("%s: %q is logged as %v", c.name, c.sent, logged)
		}
	}
}

func TestTheLogLineHasTheTraceOfARequestAndTheResponseHasNot(t *testing.T) {
	t.Parallel()
	s := start(t)
	got := s.do(t, "GET", "/api/users/1", "", "TraceParent: 00-"+traceID+"-"+parentID+"-01", "X-Request-Id: a")
	for _, name := range []string{"Traceparent", "Traceresponse", "Server-Timing"} {
		if value, given := got.header[name]; given {
			t.Errorf("the response has %s: %s", name, value)
		}
	}
	s.waitForLog(t, " request_id=a trace_id="+traceID+" parent_id="+parentID+"\n")
}
