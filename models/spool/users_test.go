package spool

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"users-api/models"
)

// An export that may begin again is sent when it is whole, and holds nothing of what was discarded.
func TestAnExportThatBeginsAgainHoldsOnlyItsSecondCopy(t *testing.T) {
	t.Parallel()
	area := NewArea(filepath.Join(t.TempDir(), "users.db-spool-"), models.NewFields())
	sending := make(chan struct{})
	copyTo := func(_ context.Context, _ models.Query, to *Spool) error {
		user := models.User{NewUser: models.NewUser{Name: strings.Repeat("n", 1000), Email: "email"}}
		for _, mayAgain := range []bool{true, false} {
			to.Begin(mayAgain)
			for user.ID = range int64(3 * spoolBytes / 1000) {
				if err := to.AddUser(&user); err != nil {
					return err
				}
			}
			for range 10_000 {
				runtime.Gosched()
			}
			select {
			case <-sending:
				if mayAgain {
					t.Error("it is sent before it is whole")
				}
			default:
			}
		}
		return nil
	}
	err := area.Export(context.Background(), models.Query{}, copyTo, func(export models.Export) error {
		close(sending)
		next := int64(0)
		for user, err := range export.Users {
			if user.ID != next || err != nil {
				t.Fatalf("user %d comes for %d, %v", user.ID, next, err)
			}
			next++
		}
		if next != 3*spoolBytes/1000 {
			t.Errorf("it has %d users", next)
		}
		return nil
	})
	if used := area.used.Load(); err != nil || used != 0 {
		t.Errorf("it takes %d bytes after its end, %v", used, err)
	}
}
