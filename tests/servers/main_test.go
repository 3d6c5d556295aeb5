//go:build postgres

// Package servers proves what the program does when its PostgreSQL server goes away, is replaced, is slow, or stands
// behind a pooler.
package servers

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
