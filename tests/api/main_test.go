// Package api proves what each request is answered, which are refused, and who may send them; and that a copy by
// the feed of changes misses nothing, whatever other programs and the server do.
package api

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
