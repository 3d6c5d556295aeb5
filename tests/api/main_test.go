// Package api proves what each request is answered: its status, headers and body, which requests are refused, and who may send
// them.
package api

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
