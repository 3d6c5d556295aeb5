package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"users-api/models"
)

// DeleteMissing imports a file without rows into a table of n users, so that all of them are missing: with too few
// deletions allowed no user is deleted, and with enough every user is.
func DeleteMissing(t *testing.T, users models.Users, n int) {
	t.Helper()
	options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 5}
	_, err := users.Import(ctx, Rows(), options)
	if many, ok := errors.AsType[*models.TooManyDeletes](err); !ok || many.Missing != n {
		t.Errorf("of %d users are missing: %v", n, err)
	}
	options.MaxDeletes = n
	if done, err := users.Import(ctx, Rows(), options); done.Deleted != n || err != nil {
		t.Errorf("of %d users %d were deleted: %v", n, done.Deleted, err)
	}
}

// deletedUsers deletes more users than an import names: it names the first by id, also in a dry run and when it is refused.
func deletedUsers(t *testing.T, users models.Users) {
	const n = models.MostListed + 50
	var listed []models.DeletedUser
	for i := range n {
		email := fmt.Sprint(n - i) // the order of the ids is not that of the emails
		if id := Create(t, users, email); len(listed) < models.MostListed {
			listed = append(listed, models.DeletedUser{ID: id, Email: email})
		}
	}
	for _, dryRun := range []bool{true, false} {
		options := models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: n - 1, DryRun: dryRun}
		_, err := users.Import(ctx, Rows(), options)
		if many, ok := errors.AsType[*models.TooManyDeletes](err); !ok || many.Missing != n || !slices.Equal(many.Users, listed) {
			t.Errorf("dry run %t: of %d users are missing: %v", dryRun, n, err)
		}
		if left := len(stored(t, users)); left != n {
			t.Errorf("dry run %t: %d users are left", dryRun, left)
		}
	}
	for _, dryRun := range []bool{true, false} {
		options := models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: n, DryRun: dryRun}
		done, err := users.Import(ctx, Rows(), options)
		if want := (models.Imported{Deleted: n, DeletedUsers: listed}); !reflect.DeepEqual(done, want) || err != nil {
			t.Errorf("dry run %t: %+v, %v", dryRun, done, err)
		}
		if left := len(stored(t, users)); (left == 0) == dryRun {
			t.Errorf("dry run %t: %d users are left", dryRun, left)
		}
	}
}
