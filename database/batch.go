package database

import (
	"cmp"
	"context"

	"gorm.io/gorm"

	"users-api/models"
)

// batch is a transaction in which the methods of [Users] work that get its context.
type batch struct {
	tx     *gorm.DB
	wrote  error // the outcome of the last write
	failed error // ends the transaction
}

type batchKey struct{}

func batchOf(ctx context.Context) *batch {
	b, _ := ctx.Value(batchKey{}).(*batch)
	return b
}

// Batch calls run, perhaps again, with a context in which everything happens in one transaction: what is read sees what was
// written before. If run returns an error, or the commit fails, nothing is stored. Where it does not write, it sees one
// moment, and holds up no write; where it does, the error is [models.ErrBatchTooSlow] if it takes longer than it may.
func (u *Users) Batch(ctx context.Context, writes bool, run func(ctx context.Context) error) error {
	inTransaction := func(tx *gorm.DB) error {
		b := &batch{tx: tx}
		limited, cancel := context.WithTimeout(ctx, u.batchTime)
		defer cancel()
		err := run(context.WithValue(limited, batchKey{}, b))
		switch {
		case b.failed != nil:
			return b.failed
		case limited.Err() != nil:
			return cmp.Or(ctx.Err(), error(models.ErrBatchTooSlow))
		}
		return err
	}
	if !writes {
		return u.snapshot(ctx, inTransaction)
	}
	if !u.writes.TryAcquire(1) { // it closes
		return models.ErrClosed
	}
	defer u.writes.Release(1)
	return u.storageError(ctx, u.pool.batch(ctx, inTransaction))
}

// Step calls run behind a savepoint of a batch: with an error, what it has written is rolled back. A failure that is no
// refusal of a write, and no lock of another transaction, ends the batch: the database may have rolled back all of it.
func (u *Users) Step(ctx context.Context, run func(ctx context.Context) error) error {
	b := batchOf(ctx)
	if b.failed != nil {
		return b.failed
	}
	b.wrote = nil
	err := b.tx.Transaction(func(*gorm.DB) error { return run(ctx) })
	if u.dialect.endsTransaction(b.tx, b.wrote) {
		b.failed = b.wrote
	}
	return err
}
