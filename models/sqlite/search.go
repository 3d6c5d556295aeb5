package sqlite

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"users-api/models"
	"users-api/models/statements"
)

const (
	// nearby is how many ids a page looks at before it asks the index, which takes 2 ms. A text that one user in a hundred
	// has is found there; FTS5 takes longer to come upon its place among many hits.
	nearby = 8192
	// An index that finds more than one user in mostFound is not worth it: to read a user by id takes about as long as to
	// look at five in order, and FTS5 needs time, too. That many who are not indexed yet are not worth it either.
	mostFound  = 32
	leastFound = 1024
	// manyWritten users are indexed after a search has looked at them.
	manyWritten = indexStep
	// mostTrigrams are sought. Few users have all of them; the others are compared anyway.
	mostTrigrams = 32
)

// sought returns what a query seeks in the index, or "" if it is to look at each user.
func (c *connection) sought(query models.Query) (string, error) {
	if !c.table.indexed || !c.fields.IsSearch(query) {
		return "", nil
	}
	sought := trigrams(query.Contains)
	if sought == "" {
		return "", nil
	}
	most, err := c.mostFound()
	if err != nil {
		return "", err
	}
	written, _, err := c.Number(someWritten, most)
	if written >= manyWritten {
		c.unindexed.Store(true)
	}
	if written == most {
		return "", err
	}
	return sought, err
}

// mostFound returns how many users the index may find before it is better to look at each.
func (c *connection) mostFound() (int64, error) {
	highest, _, err := c.Number(c.HighestID)
	return max(leastFound, highest/mostFound), err
}

// trigrams returns a query of FTS5 for the users who may have a text, or "" if it is too short. FTS5 reads a last character
// that is not ASCII as another one where a text is no UTF-8 and goes on with a byte that would continue the character.
func trigrams(text string) string {
	if len(text) < 3 || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return ""
	}
	characters := []rune(models.LowerASCII(text))
	if last := len(characters) - 1; characters[last] >= utf8.RuneSelf {
		characters = characters[:last]
	}
	var sought []string
	for i := 0; i+3 <= len(characters) && i < mostTrigrams; i++ {
		sought = append(sought, `"`+strings.ReplaceAll(string(characters[i:i+3]), `"`, `""`)+`"`)
	}
	return strings.Join(sought, " AND ")
}

// selected returns the statement for the users who match a query and come after its After, at most a number of them.
func (c *connection) selected(query models.Query, access statements.Access) string {
	return c.Select(query, c.table.emails.IgnoresCase, access).Users
}

// selecting returns the values for the users who match a query and come after its After.
func (c *connection) selecting(query models.Query) []any {
	values := c.matching(query)
	if query.After != nil {
		values = append(values, *query.After)
	}
	return values
}

// selectingNearby returns the values for those of them whose ids are nearby.
func (c *connection) selectingNearby(query models.Query) ([]any, error) {
	first, ahead, end := "min", int64(nearby), int64(math.MaxInt64)
	if query.Descending {
		first, ahead, end = "max", -nearby, math.MinInt64
	}
	from, err := int64(0), error(nil)
	if query.After != nil {
		from = *query.After
	} else {
		from, _, err = c.Number(fmt.Sprintf(firstID, first))
	}
	until := from + ahead
	if (until < from) != query.Descending { // beyond the ids that there are
		until = end
	}
	return append(c.selecting(query), until), err
}

// selectingByIndex returns the values for those of them whom the index finds.
func (c *connection) selectingByIndex(query models.Query, sought string) []any {
	values := c.selecting(query)
	return append(append([]any{sought}, values...), values...)
}

// count returns how many users match a query.
func (c *connection) count(query models.Query) (n int64, err error) {
	access, values := statements.Scan, c.matching(query)
	sought, err := c.sought(query)
	if err == nil && sought != "" {
		var worthIt bool
		if worthIt, err = c.findsFew(sought); worthIt {
			query.After = nil
			access, values = statements.Index, c.selectingByIndex(query, sought)
		}
	}
	if err == nil {
		n, _, err = c.Number(c.Select(query, c.table.emails.IgnoresCase, access).Count, values...)
	}
	return n, err
}

// findsFew reports whether the index finds so few users that it is worth it.
func (c *connection) findsFew(sought string) (bool, error) {
	most, err := c.mostFound()
	if err != nil {
		return false, err
	}
	found, _, err := c.Number(someFound, sought, most)
	return found < most, err
}

// indexWritten indexes the users who were written, many in each commit, until none is left. It returns at once, and does
// nothing if it is under way.
func (c *writer) indexWritten() {
	if c.indexing.Swap(true) {
		return
	}
	go func() {
		defer c.indexing.Store(false)
		for more := true; more; {
			err := c.do(context.Background(), &write{run: func(tx *transaction) (err error) {
				if more = tx.conn.table.indexed; more {
					more, err = tx.conn.index()
				}
				return err
			}})
			if err != nil {
				return // a later search tries again
			}
		}
	}()
}
