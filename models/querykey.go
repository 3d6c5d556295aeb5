package models

import "iter"

// QueryKey is what the text of a query depends on: which parts the query has, but not their values. An engine builds
// the text for each key once.
type QueryKey struct{ Email, Contains, After, Descending bool }

// Key returns the key of a query.
func (q Query) Key() QueryKey {
	return QueryKey{Email: q.Email != nil, Contains: q.Contains != "", After: q.After != nil, Descending: q.Descending}
}

// QueryKeys yields every key.
func QueryKeys() iter.Seq[QueryKey] {
	return func(yield func(QueryKey) bool) {
		for parts := range 1 << 4 {
			has := func(bit int) bool { return parts&(1<<bit) != 0 }
			if !yield(QueryKey{Email: has(0), Contains: has(1), After: has(2), Descending: has(3)}) {
				return
			}
		}
	}
}
