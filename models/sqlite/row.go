package sqlite

import (
	"zombiezen.com/go/sqlite"

	"users-api/models"
)

// row is the current row of a statement. It is valid until the statement goes on.
type row struct{ statement *sqlite.Stmt }

// number returns a column as an integer, as CAST does; NULL is 0.
func (r row) number(column int) int64 { return r.statement.ColumnInt64(column) }

// text returns a column as text, as CAST does; NULL is empty. The library reads the length before SQLite converts a
// blob to text, and the conversion changes the length in a file with UTF-16 texts: so a blob is read twice.
func (r row) text(column int) (text string, isNull bool) {
	kind := r.statement.ColumnType(column)
	if kind == sqlite.TypeBlob {
		r.statement.ColumnText(column)
	}
	return r.statement.ColumnText(column), kind == sqlite.TypeNull
}

// user reads the columns of [statements.Statements.UserColumns].
func (r row) user(fields models.Fields, user *models.User) {
	user.ID = r.number(0)
	for i, field := range fields {
		if text, isNull := r.text(1 + i); isNull {
			field.SetNull(&user.NewUser)
		} else {
			field.Set(&user.NewUser, text)
		}
	}
	created, _ := r.text(1 + len(fields))
	user.CreatedAt = models.ShownTime(created)
}
