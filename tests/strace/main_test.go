//go:build strace

// Package strace proves what a test can otherwise see only after a power cut: what is flushed to disk, in what order
// (strace_test.go), and what is left of the database if the power is cut at any moment (power_test.go).
//
// A recorder runs the program under strace (trace_test.go). From what it did, a disk is computed that holds what is
// certain after each call (disk_test.go), and from that the files that may be left (cut_test.go). They are opened like
// those of a killed service, and compared with what clients had been answered by then (history_test.go).
package strace

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
