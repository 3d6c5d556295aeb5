package models

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"gorm.io/gorm"
)

// A transaction of GORM inside one of storage is a savepoint: it goes with the outer one, and may fail alone.
func TestATransactionInsideAnotherIsASavepoint(t *testing.T) {
	expectSavepoints(t, Database{Path: filepath.Join(t.TempDir(), "users.db")})
}

func expectSavepoints(t *testing.T, at Database) {
	t.Helper()
	ctx, broken := context.Background(), errors.New("broken")
	at.Fields, at.Logger = NewFields()[:2], slog.New(slog.DiscardHandler)
	u, err := at.Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close(ctx) })
	create := func(tx *gorm.DB, email string) error {
		return tx.Create(&User{NewUser: NewUser{Name: "n", Email: email}}).Error
	}
	for name, test := range map[string]struct {
		outer, inner error
		stored       int64
	}{
		"both are committed":                {nil, nil, 2},
		"the inner one is taken back":       {nil, broken, 1},
		"the outer one takes the other":     {broken, nil, 0},
		"both are taken back by themselves": {broken, broken, 0},
	} {
		err := u.pool.write(time.Now(), inTransaction, func(tx *transaction) error { return tx.Exec("DELETE FROM users").Error })
		if err != nil {
			t.Fatal(err)
		}
		err = u.pool.write(time.Now(), inTransaction, func(tx *transaction) error {
			outer := create(tx.DB, "outer")
			inner := tx.Transaction(func(tx *gorm.DB) error { return errors.Join(create(tx, "inner"), test.inner) })
			if outer != nil || !errors.Is(inner, test.inner) {
				t.Errorf("%s: %v, %v", name, outer, inner)
			}
			return test.outer
		})
		stored, failed := u.Count(ctx, Query{})
		if !errors.Is(err, test.outer) || failed != nil || stored != test.stored {
			t.Errorf("%s: %d users are stored, want %d, %v, %v", name, stored, test.stored, err, failed)
		}
	}
}
