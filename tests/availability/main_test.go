//go:build postgres

// Package availability proves what clients get when the PostgreSQL server goes away, is replaced, is slow, is full, or stands
// behind a pooler: soon an answer that is true, and all of the service again by itself.
package availability

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
