package spool

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
)

// All spools together leave as much free as they take. What one gives back, another may have.
func TestSpoolsTakeNoMoreThanTheyLeave(t *testing.T) {
	t.Parallel()
	area := NewArea(filepath.Join(t.TempDir(), "users.db-spool-"), models.NewFields())
	const disk = 8 * spoolBytes
	area.free = func(string) (int64, error) { return disk - area.used.Load() + spoolBytes, nil } // take has counted its own
	large := []byte(strings.Repeat("n", spoolBytes-16))
	fill := func(s *Spool) (flushed int) {
		for {
			if err := s.add(large); errors.Is(err, models.ErrNoRoom) {
				return flushed
			} else if err != nil {
				t.Fatal(err)
			}
			flushed++
		}
	}
	first, second := area.New(), area.New()
	defer second.Close()
	if err := errors.Join(first.add(large), second.add(large)); err != nil {
		t.Fatal(err)
	}
	if more := fill(first); more != 2 {
		t.Errorf("beside two a spool has taken %d more of the 8 that the disk has", more)
	}
	if more := fill(second); more != 0 {
		t.Errorf("beside four it has taken %d more", more)
	}
	first.Close()
	third := area.New()
	defer third.Close()
	if taken := fill(third); taken != 3 {
		t.Errorf("when the first was closed another has taken %d", taken)
	}
}

func TestARealDiskHasRoom(t *testing.T) {
	t.Parallel()
	if free, err := freeBytes(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}
