package models

// Query says which users are selected. Its zero value selects all of them, by ascending id.
type Query struct {
	Where      And    // the users who meet it match
	Sort       string // the column by whose values, and then ids, the users come; "" for the ids alone
	After      *Place // if set, users that come after this place in the order of the query
	Skip       int    // how many of them are left out at the beginning
	Limit      int    // the maximum number of users; 0 selects all that match
	Descending bool   // the last one first
	Count      bool   // an export counts the users that match, too
}

// Place is where a user stands in the order of a query (keyset): no user who stays is missed or comes twice behind it,
// whoever comes, goes or is changed meanwhile.
type Place struct {
	Key string // the first 200 characters of the folded value in the column of the sort; "" in the order of ids
	ID  int64
}

// IsSearch reports whether a query may look at every user: it sorts them, or has a condition, and no index finds those
// that match. Many users may have no email.
func (f Fields) IsSearch(query Query) bool {
	for _, condition := range query.Where {
		c, _ := condition.(Comparison)
		if field := f.Find(c.Column); c.Operator == Equal && c.Value != "" && (c.Column == "id" || field != nil && field.Unique) {
			return false
		}
	}
	return query.Sort != "" || len(query.Where) > 0
}

// A Precondition (RFC 9110, section 13) is called in the transaction that writes, with the user as it is then, and must
// not call database.Users. An error refuses the write, and a nil Precondition allows it. It may be called again: the
// last user that it gets is the one that is written.
type Precondition func(User) error
