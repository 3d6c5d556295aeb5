package commands

import (
	"io"
	"log/slog"

	"users-api/config"
)

// newHandler returns what writes a line for each event to out.
func newHandler(out io.Writer, settings config.Config) slog.Handler {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
}
