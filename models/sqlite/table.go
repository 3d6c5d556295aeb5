package sqlite

// table is what must be known of the table users, which may be another program's. It changes only by another program,
// whose commit is noticed.
type table struct {
	// ids: each user has a whole number of its own as its id, because the id is the rowid. Otherwise ids may be NULL,
	// text, or the same for several users.
	ids bool
	// plain: also, a statement changes the row that it names and no other, and one that is refused leaves no trace. A
	// view, a trigger and a clause ON CONFLICT make it possible that it does not.
	plain bool
	// lookup: ids, and an index finds the one user who has an email.
	lookup bool
}

// describeTable asks whether an INTEGER PRIMARY KEY named id is the rowid, which it is where no index stands behind it
// (sqlite.org/lang_createtable.html#rowid), and whether there are triggers and rules for conflicts.
const describeTable = `SELECT
	(SELECT group_concat(lower(name) || upper(type)) FROM pragma_table_info('users') WHERE pk > 0) IS 'idINTEGER'
	AND NOT EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk'),
	NOT EXISTS (SELECT 1 FROM sqlite_master WHERE tbl_name = 'users' COLLATE NOCASE
		AND (type IN ('trigger', 'view') OR sql LIKE '%conflict%')),
	EXISTS (SELECT 1 FROM pragma_index_list('users') AS l WHERE l."unique" AND NOT l.partial
		AND (SELECT group_concat(lower(name)) FROM pragma_index_info(l.name)) = 'email')`

func (c connection) describe() (t table, err error) {
	err = c.query(func(r row) error {
		t.ids = r.number(0) == 1
		t.plain = t.ids && r.number(1) == 1
		t.lookup = t.ids && r.number(2) == 1
		return nil
	}, describeTable)
	return t, err
}
