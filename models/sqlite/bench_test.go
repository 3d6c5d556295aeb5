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
		if _, err := users.keeper.readAll(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListMended(b *testing.B) {
	users := openUsers(b, 64<<20)
	fill(b, users, 100_000)
	l := kept(b, users)
	for name, id := range map[string]int64{"changed": 50_000, "created": 100_001} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := users.keeper.mend(l, []int64{id}); err != nil {
					b.Fatal(err)
				}
			}
		})
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
		"one by email": {Email: &email}, "a page of 100": {After: &after, Limit: 100}, "everybody": {},
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
