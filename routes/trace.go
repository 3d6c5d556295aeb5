package routes

import (
	"log/slog"
	"net/http"
	"strings"
)

// traceAttributes returns the trace that a request belongs to, and the step of the trace that sent it, if its traceparent
// is valid (W3C Trace Context, section 3.2). A later version than 00 may have more behind another dash.
func traceAttributes(header http.Header) []slog.Attr {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	sent := header.Values("Traceparent")
	if len(sent) != 1 || len(sent[0]) < length {
		return nil
	}
	begin, more := sent[0][:length], sent[0][length:]
	version, trace, parent, flags := begin[:2], begin[3:35], begin[36:52], begin[53:]
	hasDashes := begin[2] == '-' && begin[35] == '-' && begin[52] == '-' && (more == "" || more[0] == '-')
	if !hasDashes || strings.Trim(version+trace+parent+flags, "0123456789abcdef") != "" {
		return nil
	}
	if version == "ff" || version == "00" && more != "" || strings.Trim(trace, "0") == "" || strings.Trim(parent, "0") == "" {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", trace), slog.String("parent_id", parent)}
}
