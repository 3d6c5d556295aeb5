package dbfile

import "zombiezen.com/go/sqlite"

// Row is the current row of a statement. It is valid until the statement goes on. Columns are counted from 0.
type Row struct{ statement *sqlite.Stmt }

// Number returns a column as an integer, as CAST does; NULL is 0.
func (r Row) Number(column int) int64 { return r.statement.ColumnInt64(column) }

// Text returns a column as text, as CAST does; NULL is empty. The library reads the length before SQLite converts a
// blob to text, and the conversion changes the length in a file with UTF-16 texts: so a blob is read twice.
func (r Row) Text(column int) (text string, isNull bool) {
	kind := r.statement.ColumnType(column)
	if kind == sqlite.TypeBlob {
		r.statement.ColumnText(column)
	}
	return r.statement.ColumnText(column), kind == sqlite.TypeNull
}
