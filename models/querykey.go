package models

import "math"

// QueryKey is what the SQL of a query depends on: which parts the query has, but not their values. The SQL for each key
// is built once.
type QueryKey struct {
	Equal                       FieldSet
	Contains, After, Descending bool
}

// Key returns the key of a query.
func (q Query) Key() QueryKey {
	return QueryKey{Equal: q.Equal.Fields, Contains: q.Contains != "", After: q.After != nil, Descending: q.Descending}
}

// From returns the query for the first user whose id is at least the given one.
func From(id int64) Query {
	if id == math.MinInt64 {
		return Query{Limit: 1}
	}
	before := id - 1
	return Query{After: &before, Limit: 1}
}

// IsPage reports whether a query selects a page of the list of all users.
func (q Query) IsPage() bool { return q.Limit > 0 && q.Contains == "" && q.Equal.Fields == 0 }

// HasUnique reports whether a query has a value of which an index finds the one user.
func (f Fields) HasUnique(query Query) bool {
	for field := range f.In(query.Equal.Fields) {
		if field.Unique {
			return true
		}
	}
	return false
}

// IsSearch reports whether a query may look at every user to find those that match: it has a condition, and no index
// finds them.
func (f Fields) IsSearch(query Query) bool {
	return (query.Contains != "" || query.Equal.Fields != 0) && !f.HasUnique(query)
}

// CountIsSearch reports whether counting the users that match looks at every user.
func (f Fields) CountIsSearch(query Query) bool {
	return f.IsSearch(query) || query.Equal.Fields == 0
}
