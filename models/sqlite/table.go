package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"users-api/models"
	"users-api/models/imports"
	"users-api/models/sqlite/dbfile"
)

// table is what must be known about the table users, which another program may have created.
type table struct {
	// rules: there are triggers that are not ours, or constraints with an ON CONFLICT clause. Then a refused
	// statement may leave a trace, and a successful one may change users other than the one it names.
	rules bool
	// feed: changes are recorded.
	feed bool
	// indexed: there is an index for searches.
	indexed bool
	// emails is what the indexes do for emails.
	emails imports.Emails

	schema  int64     // the schema version for which this holds
	checked time.Time // when it was last found to hold; zero if the table cannot be served
}

// checkTable finds out what the table is now, or returns why it cannot be served. It is called at the beginning of each
// transaction that writes, and the result holds until its end: another program may replace the table between two.
func (c *connection) checkTable() error {
	schema, _, err := c.Number(schemaVersion)
	if err != nil {
		return err
	}
	if c.table.checked.IsZero() || schema != c.table.schema {
		if c.table, err = c.describe(); err != nil {
			c.table = table{}
			return err
		}
		c.table.schema = schema
	}
	c.table.checked = time.Now()
	return nil
}

// checkEvery is how often a connection that reads checks the table. Each check takes a fifteenth of the time to read a
// user by id.
const checkEvery = time.Second

// recheckTable is checkTable, at most every checkEvery, unless the query has an email or is a search: whether the case of
// an email counts, and what a search reads, depends on an index that may be new, or gone.
func (c *connection) recheckTable(query models.Query) error {
	if time.Since(c.table.checked) < checkEvery && !c.fields.HasUnique(query) && query.Contains == "" {
		return nil
	}
	return c.checkTable()
}

func (c *connection) describe() (t table, err error) {
	exists, why, triggers := false, "", int64(0)
	err = c.Query(func(r dbfile.Row) error {
		exists = true
		why, _ = r.Text(0)
		triggers = r.Number(2)
		t = table{
			rules:  r.Number(1) == 1,
			emails: imports.Emails{FindsUser: r.Number(3) == 1, IgnoresCase: r.Number(4) == 1},
		}
		return nil
	}, describeTable)
	switch {
	case err != nil:
		return t, err
	case why != "":
		return t, cannotServe(why)
	case !exists:
		return t, nil // each statement will say that there is no table
	}
	if t.feed, err = records(c.Connection); err != nil {
		return t, err
	}
	if t.indexed, err = c.hasIndex(); err != nil {
		return t, err
	}
	c.recording.Store(t.feed)
	t.rules = t.rules || triggers > t.ownTriggers()
	if err := c.expectAdded(); err != nil {
		return t, err
	}
	return t, c.compileWrites()
}

// ownTriggers is how many triggers of the table users are ours.
func (t *table) ownTriggers() (n int64) {
	if t.feed {
		n += triggersOfUsers
	}
	if t.indexed {
		n += int64(len(indexTriggers()))
	}
	return n
}

// columns returns the names of all columns of the table users.
func (c *connection) columns() (names []string, err error) {
	err = c.Query(func(r dbfile.Row) error {
		name, _ := r.Text(0)
		names = append(names, name)
		return nil
	}, columnNames)
	return names, err
}

// expectAdded returns an error if the table lacks a field that a setting adds. Without any other, compileWrites fails.
func (c *connection) expectAdded() error {
	existing, err := c.columns()
	if err != nil {
		return err
	}
	var missing []string
	for _, field := range c.fields {
		if field.Added && !hasColumn(existing, field.Name) {
			missing = append(missing, field.Name)
		}
	}
	if len(missing) > 0 {
		return &models.StorageError{Text: models.MissingColumns(missing), Meaning: unserved}
	}
	return nil
}

// hasColumn reports whether a name is among those of columns, for which letter case does not count.
func hasColumn(columns []string, name string) bool {
	return slices.ContainsFunc(columns, func(column string) bool { return models.LowerASCII(column) == name })
}

// compileWrites compiles the statements that write, and with them the table's triggers. That fails if a column is
// missing, or if a trigger has text in double quotes, which this connection takes for a column.
func (c *connection) compileWrites() error {
	for _, text := range []string{c.Insert, c.Update(c.fields.All()), c.Delete} {
		err := c.Compile(text)
		if dbfile.PrimaryCode(err) == dbfile.CodeError {
			verb, _, _ := strings.Cut(text, " ")
			return cannotServe(fmt.Sprintf("SQLite cannot compile %s with its triggers: %v", verb, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const unserved = "the table users cannot be served"

// cannotServe says why the table users cannot be served, and what to do.
func cannotServe(why string) error {
	return &models.StorageError{
		Text: unserved + ": " + why + "; make it an ordinary table with id INTEGER PRIMARY KEY whose columns and triggers " +
			"SQLite can compile, or set DATA_DIR to another directory",
		Meaning: unserved,
	}
}
