// Package docs proves that README.md, docs/ and the dashboard are true.
package docs

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
