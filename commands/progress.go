package commands

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// showProgress returns a function that draws a progress bar, or nil if stderr is not a terminal.
func showProgress(what string, inBytes bool) func(done, total int64) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil {
			bar = newBar(what, total, inBytes)
		}
		_ = bar.Set64(done) // failing to draw the bar is harmless
		if done == total {
			_ = bar.Finish()
		}
	}
}

// newBar returns a bar that redraws at most ten times a second and disappears when it is full.
func newBar(what string, total int64, inBytes bool) *progressbar.ProgressBar {
	if total == 0 {
		total = -1 // unknown
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(inBytes),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}
