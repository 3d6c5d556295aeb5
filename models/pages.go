package models

import "iter"

// Pages returns the users that a query selects, page by page: each page begins after the last id of the one before.
// Nothing is held while the caller uses a page, so the caller may drop the page and wait. Read reads the first page of
// a query, and reports whether more users may come.
func Pages(query Query, read func(Query) (page []User, more bool, err error)) iter.Seq2[[]User, error] {
	return func(yield func([]User, error) bool) {
		for next, more := query, true; more; {
			var page []User
			var err error
			if page, more, err = read(next); err != nil {
				yield(nil, err)
				return
			}
			if more {
				last := page[len(page)-1].ID
				next.After = &last
				next.Limit = max(0, next.Limit-len(page))
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// Each returns the users of pages.
func Each(pages iter.Seq2[[]User, error]) iter.Seq2[User, error] {
	return func(yield func(User, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(User{}, err)
				return
			}
			for _, user := range page {
				if !yield(user, nil) {
					return
				}
			}
		}
	}
}
