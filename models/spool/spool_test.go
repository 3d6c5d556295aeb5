package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"users-api/models"
)

func TestASpoolThatCannotBeWrittenSaysWhy(t *testing.T) {
	s := NewArea(filepath.Join(t.TempDir(), "gone", "users.db-spool-"), models.NewFields()).New()
	defer s.Close()
	large := []byte(strings.Repeat("n", spoolBytes))
	want := "a temporary file cannot be written: no such file or directory"
	if err := s.add(large); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestASpoolIsReadWhileItIsWritten(t *testing.T) {
	s := NewArea(filepath.Join(t.TempDir(), "users.db-spool-"), models.NewFields()).New()
	defer s.Close()
	broken := errors.New("broken")
	go func() {
		for i := range 100_000 {
			_ = s.add(fmt.Appendf(nil, "%d%s", i, strings.Repeat("é", i%50)))
		}
		s.end(broken)
	}()
	n := 0
	for r, err := range s.records() {
		if err != nil {
			if !errors.Is(err, broken) {
				t.Error(err)
			}
			break
		}
		if string(r.rest) != fmt.Sprint(n)+strings.Repeat("é", n%50) {
			t.Fatalf("record %d is %s", n, r.rest)
		}
		n++
	}
	if n != 100_000 {
		t.Errorf("%d records came", n)
	}
}

func TestTheFileOfASpoolHasNoNameAndIsClosedWithIt(t *testing.T) {
	s := NewArea(filepath.Join(t.TempDir(), "users.db-spool-"), models.NewFields()).New()
	if err := s.add([]byte(strings.Repeat("n", spoolBytes))); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(s.in.prefix + "*"); len(left) > 0 || err != nil {
		t.Errorf("a kill would leave %v, %v", left, err)
	}
	file := s.file
	s.Close()
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
}
