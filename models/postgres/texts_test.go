package postgres

import (
	"strings"
	"sync"
	"testing"

	driver "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"users-api/models"
)

// The statements that are written out must name what the model defines.
func TestTheWrittenStatementsNameTheModelsTableAndColumns(t *testing.T) {
	for _, record := range []any{&models.User{}, &newTable{}} {
		model, err := schema.Parse(record, &sync.Map{}, schema.NamingStrategy{})
		if err != nil {
			t.Fatal(err)
		}
		if columns := strings.Join(model.DBNames, ", "); columns != "id, name, email, created_at" || model.Table != "users" {
			t.Errorf("the model is %s (%s)", model.Table, columns)
		}
	}
	update, _ := changes{queries: &queries{columns: "id"}}.updateText(models.Change{Name: new(string), Email: new(string)})
	for statement, want := range map[string]string{
		table{timeType: "timestamptz"}.insertText(): "WITH written AS (INSERT INTO users (name, email, created_at) " +
			"SELECT name, email, date_trunc('second', now()) FROM unnest(",
		update:  "WITH written AS (UPDATE users SET name = $1, email = $2 WHERE id = $3::int8 RETURNING id)",
		columns: "id, COALESCE(name::text, ''), COALESCE(email::text, ''), created_at",
	} {
		if !strings.HasPrefix(statement, want) {
			t.Errorf("the statement is %s", statement)
		}
	}
}

// What GORM builds of each query, of our own table and of one with another type of time.
func TestQueriesAreBuiltFromTheModel(t *testing.T) {
	// It opens no connection.
	db, err := gorm.Open(driver.New(driver.Config{DSN: "postgres://nobody@127.0.0.1:1/none"}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	own := newQueries(db, table{timeType: "timestamptz"})
	odd := newQueries(db, table{timeType: "int4"})
	everything := models.QueryKey{Email: true, Contains: true, After: true, Descending: true}
	const from = `, COALESCE(name::text, ''), COALESCE(email::text, ''), created_at FROM "users"`
	const matches = `email = $1 AND (lower(name::text COLLATE "C") LIKE $2 OR lower(email::text COLLATE "C") LIKE $3)`
	for text, want := range map[string]string{
		own.byID:                              "SELECT id" + from + " WHERE id = $1::int8",
		own.locked:                            "SELECT id" + from + " WHERE id = $1::int8 FOR UPDATE",
		own.selected[models.QueryKey{}].users: "SELECT id" + from + " ORDER BY id LIMIT $1::int8",
		own.selected[models.QueryKey{}].count: `SELECT count(*) FROM "users"`,
		own.selected[everything].users:        "SELECT id" + from + " WHERE " + matches + " AND id < $4::int8 ORDER BY id DESC LIMIT $5::int8",
		own.selected[everything].count:        `SELECT count(*) FROM "users" WHERE ` + matches,
		odd.selected[models.QueryKey{After: true}].users: "SELECT id" + strings.Replace(from, "created_at", "created_at::text", 1) +
			" WHERE id > $1::int8 ORDER BY id LIMIT $2::int8",
	} {
		if text != want {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}
	}
}
