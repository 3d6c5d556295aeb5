package storetest

import (
	"fmt"
	"strings"
	"testing"

	"users-api/models"
)

// The size of a page is bounded by all of its texts, whichever of them are long: a limit that counted names alone would
// let a page of long emails take all memory.
func pageSizes(t *testing.T, users models.Users) {
	const n, long, most = 24, 30_000, 256 << 10
	text := strings.Repeat("x", long)
	for _, shape := range []struct {
		what string
		user func(i int) models.NewUser
	}{
		{"names", func(i int) models.NewUser { return models.NewUser{Name: text, Email: fmt.Sprint(i)} }},
		{"emails", func(i int) models.NewUser { return models.NewUser{Name: "n", Email: fmt.Sprint(i, text)} }},
	} {
		var rows []models.NewUser
		for i := range n {
			rows = append(rows, shape.user(i))
		}
		options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: n}
		if _, err := users.Import(ctx, Rows(rows...), options); err != nil {
			t.Fatal(err)
		}
		found := 0
		for page, err := range users.Select(ctx, models.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, user := range page {
				found++
				bytes += len(user.Name) + len(user.Email)
			}
			if bytes > most {
				t.Errorf("a page of %d users with long %s has %d bytes", len(page), shape.what, bytes)
			}
		}
		if found != n {
			t.Errorf("%d users with long %s are on the pages, want %d", found, shape.what, n)
		}
	}
}
