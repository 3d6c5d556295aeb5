package sqlite

import (
	"fmt"
	"sync/atomic"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

func BenchmarkCreateAlone(b *testing.B) {
	users := openUsers(b, 0)
	for i := 0; b.Loop(); i++ {
		storetest.Create(b, users, fmt.Sprint(i))
	}
}

func BenchmarkCreateTogether(b *testing.B) {
	users := openUsers(b, 0)
	var next atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			storetest.Create(b, users, fmt.Sprint(next.Add(1)))
		}
	})
}

func BenchmarkListUnchanged(b *testing.B) {
	users := openUsers(b, 64<<20)
	fill(b, users, 1000)
	for b.Loop() {
		if err := users.List(ctx, func(models.List) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListReadAgain(b *testing.B) {
	users := openUsers(b, 64<<20)
	fill(b, users, 1000)
	for b.Loop() {
		users.source.dataVersion = 0 // as if another program had written
		users.writer.dataVersion = 0
		storetest.Text(b, users)
	}
}

func BenchmarkListMended(b *testing.B) {
	users := openUsers(b, 64<<20)
	fill(b, users, 100_000)
	storetest.Text(b, users)
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint(i)
		if _, err := users.Change(ctx, 50_000, storetest.Values("name", name), nil); err != nil {
			b.Fatal(err)
		}
		if err := users.List(ctx, func(models.List) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	users := openUsers(b, 0)
	fill(b, users, 1000)
	for b.Loop() {
		if _, err := users.Get(ctx, 500); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	users := openUsers(b, 0)
	fill(b, users, 10_000)
	email, after := "user500@example.org", int64(5000)
	for name, query := range map[string]models.Query{
		"one by email": {Equal: storetest.Values("email", email)}, "a page of 100": {After: &after, Limit: 100}, "everybody": {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range users.Select(ctx, query) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
