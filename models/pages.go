package models

import "iter"

// Pages returns the users that a query asks for, page by page: each begins after the last id of the one before, and nothing
// is held between two but a page. Read reads the first page of a query, and reports whether more users may come.
func Pages(query Query, read func(Query) (page []User, more bool, err error)) iter.Seq2[User, error] {
	return func(yield func(User, error) bool) {
		for next, more := query, true; more; {
			var page []User
			var err error
			if page, more, err = read(next); err != nil {
				yield(User{}, err)
				return
			}
			for _, user := range page {
				if !yield(user, nil) {
					return
				}
			}
			if more {
				next.After = &page[len(page)-1].ID
				next.Limit = max(0, next.Limit-len(page))
			}
		}
	}
}
