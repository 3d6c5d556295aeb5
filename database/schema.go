package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"users-api/models"
)

// What a start looks at and makes, and the commands that change the table users, beside running services. Nothing else
// changes a table that exists.

// table is what the table users was when it was opened, which the service of the specification may have created. Each
// column in unique has a unique index of its own, of all values or of those that are not empty.
type table struct {
	columns     []string // none if there is no table
	unique      []string
	ignoresCase bool // the unique index of the email ignores the case of ASCII letters
	indexed     bool // searches have an index
}

// look returns what the table users is, or why it cannot be served with these fields. Where there is none, the statements
// that follow say so.
func look(db *gorm.DB, dialect dialect, fields models.Fields) (t table, err error) {
	var isOrdinary, hasKey bool
	err = db.Raw(dialect.kindOfUsers()).Row().Scan(&isOrdinary, &hasKey)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	var columns []column
	var unique []struct {
		Name        string
		IgnoresCase bool
	}
	if err == nil {
		columns, err = columnsOf(db, dialect, "users")
	}
	if err == nil {
		err = db.Raw(dialect.uniqueColumns()).Scan(&unique).Error
	}
	if err == nil {
		t.indexed, err = dialect.hasSearchIndex(db, fields.Settable().Names())
	}
	if err != nil {
		return t, err
	}
	for _, index := range unique {
		t.unique = append(t.unique, index.Name)
		t.ignoresCase = t.ignoresCase || index.Name == "email" && index.IgnoresCase
	}
	why := ""
	switch {
	case !isOrdinary:
		why = "it is not an ordinary table"
	case !hasKey:
		why = "its id is no integer that is the primary key"
	}
	for _, column := range columns {
		t.columns = append(t.columns, column.Name)
		fits, types := dialect.accepts(column.Type, fields.IsTime(column.Name))
		if !fits && why == "" && column.Name != "id" && slices.Contains(fields.Columns(), column.Name) {
			why = fmt.Sprintf("its column %s is of type %s, and must be %s", column.Name, cmp.Or(column.Type, "none"), types)
		}
	}
	if why != "" {
		return t, models.Unserved(why + ": change that, or give users-api another database")
	}
	return t, fields.Expect(t.columns)
}

// column is a column of a table, and its type as the database calls it.
type column struct{ Name, Type string }

// columnsOf returns the columns of a table or a view, none if there is none.
func columnsOf(db *gorm.DB, dialect dialect, table string) (columns []column, err error) {
	err = db.Raw(dialect.columns(), table).Scan(&columns).Error
	return columns, err
}

// prepare makes the tables that are missing, adds the columns that a table without a single user lacks, and removes what
// earlier versions have left. It returns what the table is then, and logs what it has changed.
func (d Location) prepare(tx *gorm.DB, dialect dialect) (t table, err error) {
	if t, err = look(tx, dialect, nil); err == nil && len(t.columns) == 0 {
		err = tx.AutoMigrate(&models.User{})
	} else if err == nil {
		err = d.addToEmpty(tx, dialect, t)
	}
	if err == nil {
		t, err = look(tx, dialect, d.Fields)
	}
	if err == nil {
		err = d.prepareChanges(tx, dialect, false)
	}
	return t, err
}

func (d Location) addToEmpty(tx *gorm.DB, dialect dialect, t table) error {
	var users []int64
	if err := tx.Model(&models.User{}).Limit(1).Pluck("id", &users).Error; err != nil || len(users) > 0 {
		return err
	}
	isThere := func(name string) bool { return slices.Contains(t.columns, name) }
	missing := slices.DeleteFunc(d.Fields.OptionalNames(), isThere)
	for _, name := range missing {
		if err := addColumn(tx, dialect, name); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		d.Logger.Info("columns were added to the table users, which has no user", "columns", strings.Join(missing, ", "))
	}
	return nil
}

// addColumn adds the column of a field. The users who exist get their created_at as updated_at.
func addColumn(tx *gorm.DB, dialect dialect, name string) error {
	err := tx.Migrator().AddColumn(&models.User{}, name)
	if err == nil && name == models.UpdatedAt {
		err = tx.Exec("UPDATE users SET updated_at = " + dialect.cutTime("created_at")).Error
	}
	return err
}

// prepareChanges makes users_changes, and an epoch where there is none. Where nothing is to be recorded, it deletes what was.
func (d Location) prepareChanges(tx *gorm.DB, dialect dialect, restart bool) error {
	var earlier []string
	err := tx.Raw(dialect.earlier()).Scan(&earlier).Error
	if err == nil && len(earlier) > 0 {
		err = tx.Exec("DROP " + strings.Join(earlier, "; DROP ")).Error
	}
	if err != nil {
		return err
	}
	if len(earlier) > 0 {
		d.Logger.Info("what an earlier version has made was removed", "from", "users", "removed", strings.Join(earlier, ", "))
	}
	columns, err := columnsOf(tx, dialect, models.Change{}.TableName())
	records := d.KeepChanges > 0 || restart
	switch {
	case err != nil, len(columns) == 0 && !records:
		return err
	case len(columns) == 0:
		err = dialect.createChanges(tx)
	case !slices.ContainsFunc(columns, func(c column) bool { return c.Name == "user_id" }):
		err = errors.New("the table users_changes is another program's: rename it, or give users-api another database")
	}
	if err == nil && records {
		err = dialect.beginEpoch(tx, restart)
	}
	if err != nil || records {
		return err
	}
	deleted := tx.Where("seq >= 0").Delete(&models.Change{}) // a later start with another CHANGES_KEEP begins a new epoch
	if deleted.RowsAffected > 1 {
		d.Logger.Warn("CHANGES_KEEP is 0: what was recorded is deleted now, with the history of every user", "help",
			"all processes of one database need the same CHANGES_KEEP")
	}
	return deleted.Error
}

// RestartChanges makes users_changes and what else a start makes, as the owner of the tables, and begins a new epoch:
// clients that keep a copy export again.
func (d Location) RestartChanges(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect, _ table) error {
		return d.prepareChanges(tx, dialect, true)
	})
}

// AddFields adds the columns of fields, of a setting or of the model. If they are to be unique, each gets a unique index of
// its values that are not empty, and may be there already: if users share a value, the error is [*models.SameValues].
func (d Location) AddFields(ctx context.Context, unique bool, names ...string) error {
	if unique && slices.Contains(names, models.UpdatedAt) {
		return errors.New("nothing was changed, because updated_at is a time, which many users may share")
	}
	d.Fields = fieldsWith(names...)
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect, before table) (err error) {
		for _, name := range names {
			exists := slices.Contains(before.columns, name)
			switch {
			case err != nil:
			case exists && !unique:
				err = fmt.Errorf("the table users has the column %s already: nothing was changed", name)
			case slices.Contains(before.unique, name):
				err = fmt.Errorf("the table users has a unique index on the column %s already: nothing was changed", name)
			case !exists:
				err = addColumn(tx, dialect, name)
			}
		}
		if err != nil || !unique {
			return err
		}
		_, err = look(tx, dialect, d.Fields) // their types
		for _, name := range names {
			if err == nil {
				isNotEmpty := " WHERE " + quote(name) + " <> ''"
				err = createUnique(tx, "users_"+name+"_unique", quote(name), isNotEmpty, "some users have the same "+name)
			}
		}
		return err
	})
}

// fieldsWith returns fields with these among them, which a setting adds unless they are of the model.
func fieldsWith(names ...string) models.Fields {
	own := models.NewFields()
	return models.NewFields(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return own.Find(name) != nil })...)
}

// IgnoreEmailCase makes emails that differ only in the case of ASCII letters count as the same. If such emails exist,
// the error is [*models.SameValues].
func (d Location) IgnoreEmailCase(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect, before table) error {
		if before.ignoresCase {
			return nil
		}
		return createUnique(tx, "users_email_nocase", dialect.foldedEmail(), "", "some emails differ only in the case of their letters")
	})
}

// createUnique creates a unique index of a key, of all users or of some, or returns the error that names the users who share
// one. The key, and which users, are SQL.
func createUnique(tx *gorm.DB, name, key, where, shared string) error {
	same := models.SameValues{Why: shared}
	err := tx.Raw("SELECT id FROM users WHERE "+key+" IN (SELECT "+key+" FROM users"+where+
		" GROUP BY 1 HAVING count(*) > 1) ORDER BY "+key+", id LIMIT ?", models.MaxListed+1).Scan(&same.IDs).Error
	if err == nil && len(same.IDs) > 0 {
		err = &same
	}
	if err == nil {
		err = tx.Exec("CREATE UNIQUE INDEX " + name + " ON users (" + key + ")" + where).Error
	}
	return err
}

// IndexSearch makes the index of searches anew, for the fields of the database.
func (d Location) IndexSearch(ctx context.Context) error {
	if d.URL != "" {
		return d.onPostgres(ctx, func(p *postgresPool) error { return p.indexSearch(ctx, d.Fields) })
	}
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect, _ table) error {
		_, err := look(tx, dialect, d.Fields)
		if err == nil {
			err = dialect.dropSearchIndex(tx)
		}
		if err == nil { // writes wait until it is done: 1,000,000 users take about 24 s
			statements, fill := indexStatements(d.Fields.Settable().Names())
			err = tx.Exec(strings.Join(slices.Insert(statements, 2, fill...), "; ")).Error
		}
		return err
	})
}

// DropSearchIndex removes the index of searches.
func (d Location) DropSearchIndex(ctx context.Context) error {
	return d.changeSchema(ctx, func(tx *gorm.DB, dialect dialect, _ table) error { return dialect.dropSearchIndex(tx) })
}

// changeSchema changes the schema in one transaction. The table, which it tells, must be one that can be served without
// further fields.
func (d Location) changeSchema(ctx context.Context, change func(tx *gorm.DB, dialect dialect, before table) error) error {
	looked := func(tx *gorm.DB, dialect dialect) error {
		before, err := look(tx, dialect, nil)
		if err == nil {
			err = change(tx, dialect, before)
		}
		return err
	}
	if d.URL != "" {
		return d.onPostgres(ctx, func(p *postgresPool) error { return p.changeSchema(ctx, looked) })
	}
	return d.changeSQLite(ctx, looked)
}

func (d Location) onPostgres(ctx context.Context, run func(p *postgresPool) error) error {
	ended, endAll := context.WithCancel(context.WithoutCancel(ctx))
	defer endAll()
	p, err := connectPostgres(ctx, d, ended)
	if err != nil {
		return err
	}
	defer p.close(ctx) //nolint:errcheck // nothing is in progress
	return run(p)
}
