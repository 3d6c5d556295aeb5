package commands

import (
	"log/slog"
	"os"

	"users-api/config"
)

// newLogger returns what writes a line to stderr for each event.
func newLogger(settings config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
