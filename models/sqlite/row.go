package sqlite

import (
	"zombiezen.com/go/sqlite"

	"users-api/models"
)

// row is the current row of a statement. It is valid until the statement goes on.
type row struct{ statement *sqlite.Stmt }

// kind returns the type that a column's value is stored as.
func (r row) kind(column int) sqlite.ColumnType { return r.statement.ColumnType(column) }

// number returns a column as an integer, as CAST does; NULL is 0.
func (r row) number(column int) int64 { return r.statement.ColumnInt64(column) }

// text returns a column as text, as CAST does; NULL is empty. The library reads the length before SQLite converts a
// blob to text, and the conversion changes the length in a file with UTF-16 texts: so a blob is read twice.
func (r row) text(column int) string {
	if r.kind(column) == sqlite.TypeBlob {
		r.statement.ColumnText(column)
	}
	return r.statement.ColumnText(column)
}

// user returns the user in the first columns of a row.
func (r row) user() models.User {
	user := models.User{ID: r.number(0), CreatedAt: models.ShownTime(r.text(3))}
	user.Name, user.Email = r.text(1), r.text(2)
	return user
}
