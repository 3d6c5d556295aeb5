// Package documents proves that README.md, docs/ and the dashboard are true.
package documents

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
