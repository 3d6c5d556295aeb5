// Package api proves what each request is answered: its status, headers and body, which requests are refused, and who may send
// them; and that a client that keeps a copy of the users by the feed of changes misses nothing, whatever other programs do to
// the tables, and whatever becomes of the server. linearizability has one that follows the feed while many clients write and
// processes are killed.
package api

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
