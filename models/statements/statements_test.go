package statements_test

import (
	"fmt"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"

	"users-api/models"
	"users-api/models/statements"
	"users-api/models/storetest"
)

var (
	onSQLite = statements.Dialect{
		Dialector: sqlite.Open(""), Text: "%s", Time: "%s", ID: "id", Number: "?", Limit: "? + 0",
		Contains: "instr(lower(%s), lower(?))", SameIgnoringCase: "%s = ? COLLATE NOCASE", Now: "CURRENT_TIMESTAMP",
		Found: "(SELECT rowid AS id FROM found WHERE found MATCH ?)", Written: "written",
	}
	onPostgreSQL = statements.Dialect{
		Dialector: postgres.Open(""), Text: "%s::text", Time: "%s::timestamp", ID: "id::int8", Number: "?::int8",
		Limit: "?::int8", HiddenLimit: "(SELECT ?::int8)", Contains: "lower(%s::text) LIKE ?", Now: "now()", Returning: true,
	}
)

func TestEachStatementNamesTheFieldsOfTheTable(t *testing.T) {
	fields := storetest.Fields()
	name, email := models.Values{}, models.Values{}
	name.Set(fields[0], "n")
	email.Set(fields[1], "e")
	after := int64(7)
	for what, test := range map[string]struct {
		dialect statements.Dialect
		text    func(*statements.Statements) string
		want    string
	}{
		"one user": {onSQLite, func(s *statements.Statements) string { return s.ByID },
			"SELECT id, `name`, `email`, created_at FROM `users` WHERE id = ?"},
		"the time in the form that the dialect asks for": {onPostgreSQL, func(s *statements.Statements) string { return s.ByID },
			`SELECT id, "name"::text, "email"::text, created_at::timestamp FROM "users" WHERE id = $1::int8`},
		"a creation": {onSQLite, func(s *statements.Statements) string { return s.Insert },
			"INSERT INTO `users` (`name`,`email`,`created_at`) VALUES (?,?,CURRENT_TIMESTAMP)"},
		"a change of one field": {onSQLite, func(s *statements.Statements) string { return s.Update(email.Fields) },
			"UPDATE `users` SET `email`=? WHERE id = ?"},
		"a change of both that returns the user": {onPostgreSQL,
			func(s *statements.Statements) string { return s.Update(name.Fields | email.Fields) },
			`UPDATE "users" SET "name"=$1,"email"=$2 WHERE id = $3::int8 ` +
				`RETURNING id, "name"::text, "email"::text, created_at::timestamp`},
		"a deletion": {onSQLite, func(s *statements.Statements) string { return s.Delete }, "DELETE FROM `users` WHERE id = ?"},
		"ids in pages": {onPostgreSQL, func(s *statements.Statements) string { return s.IDs },
			`SELECT id::int8 FROM "users" WHERE id >= $1::int8 ORDER BY id LIMIT $2::int8`},
		"a query with every part": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Equal: email, Contains: "c", After: &after, Descending: true}, false, statements.Scan).Users
		}, "SELECT id, `name`, `email`, created_at FROM `users` WHERE `email` = ? " +
			"AND (instr(lower(`name`), lower(?)) OR instr(lower(`email`), lower(?))) AND id < ? ORDER BY id DESC LIMIT ? + 0"},
		"a count, regardless of where the page begins": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Equal: email, After: &after, Limit: 3}, false, statements.Scan).Count
		}, "SELECT count(*) FROM `users` WHERE `email` = ?"},
		"a search whose limit the planner does not see": {onPostgreSQL, func(s *statements.Statements) string {
			return s.Select(models.Query{Contains: "c"}, false, statements.Planned).Users
		}, `SELECT id, "name"::text, "email"::text, created_at::timestamp FROM "users" WHERE lower("name"::text) LIKE $1 ` +
			`OR lower("email"::text) LIKE $2 ORDER BY id LIMIT (SELECT $3::int8)`},
		"what is near": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Contains: "c", Descending: true}, false, statements.Nearby).Users
		}, "SELECT id, `name`, `email`, created_at FROM `users` WHERE (instr(lower(`name`), lower(?)) OR " +
			"instr(lower(`email`), lower(?))) AND id >= ? ORDER BY id DESC LIMIT ? + 0"},
		"what an index finds": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Contains: "c", After: &after}, false, statements.Index).Users
		}, "SELECT id, `name`, `email`, created_at FROM (SELECT rowid AS id FROM found WHERE found MATCH ?) CROSS JOIN users " +
			"USING (id) WHERE (instr(lower(`name`), lower(?)) OR instr(lower(`email`), lower(?))) AND id > ? UNION ALL " +
			"SELECT id, `name`, `email`, created_at FROM written CROSS JOIN users USING (id) " +
			"WHERE (instr(lower(`name`), lower(?)) OR instr(lower(`email`), lower(?))) AND id > ? ORDER BY id LIMIT ? + 0"},
		"how many of them match": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Equal: name, Contains: "c"}, false, statements.Index).Count
		}, "SELECT (SELECT count(*) FROM (SELECT rowid AS id FROM found WHERE found MATCH ?) CROSS JOIN users USING (id) " +
			"WHERE `name` = ? AND (instr(lower(`name`), lower(?)) OR instr(lower(`email`), lower(?)))) + " +
			"(SELECT count(*) FROM written CROSS JOIN users USING (id) " +
			"WHERE `name` = ? AND (instr(lower(`name`), lower(?)) OR instr(lower(`email`), lower(?))))"},
		"an email in any letter case": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Equal: email}, true, statements.Scan).Count
		}, "SELECT count(*) FROM `users` WHERE `email` = ? COLLATE NOCASE"},
		"a name in any letter case is another": {onSQLite, func(s *statements.Statements) string {
			return s.Select(models.Query{Equal: name}, true, statements.Scan).Count
		}, "SELECT count(*) FROM `users` WHERE `name` = ?"},
	} {
		built, err := statements.Build(test.dialect, fields)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second comes from the cache
			if got := test.text(built); got != test.want {
				t.Errorf("%s is %s, want %s", what, got, test.want)
			}
		}
	}
}

func TestTheValuesOfAQueryComeInTheOrderOfItsParameters(t *testing.T) {
	fields := storetest.Fields()
	built, err := statements.Build(onSQLite, fields)
	if err != nil {
		t.Fatal(err)
	}
	query := models.Query{Contains: "c"}
	query.Equal.Set(fields[1], "e")
	query.Equal.Set(fields[0], "n")
	got := built.Matching(query, func(contains string) string { return "%" + contains + "%" })
	if fmt.Sprint(got) != "[n e %c% %c%]" {
		t.Error(got)
	}
}

func TestTheTableHasTheColumnsThatASettingAdds(t *testing.T) {
	type table struct {
		models.User
		CreatedAt string `gorm:"->;type:datetime"`
	}
	fields := models.NewFields("phone", "group")
	for dialect, want := range map[statements.Dialect][]string{
		onSQLite: {"CREATE TABLE `users` (`id` integer PRIMARY KEY AUTOINCREMENT,`name` text NOT NULL,`email` text NOT NULL," +
			"`created_at` datetime,`phone` text,`group` text,CONSTRAINT `uni_users_email` UNIQUE (`email`))",
			"ALTER TABLE `users` ADD `group` text"},
		onPostgreSQL: {`CREATE TABLE "users" ("id" bigserial,"name" text NOT NULL,"email" text NOT NULL,` +
			`"created_at" datetime,"phone" text,"group" text,PRIMARY KEY ("id"),CONSTRAINT "uni_users_email" UNIQUE ("email"))`,
			`ALTER TABLE "users" ADD "group" text`},
	} {
		create, err := statements.CreateTable(dialect, table{}, fields)
		if err != nil || fmt.Sprint(create) != fmt.Sprint(want[:1]) {
			t.Errorf("%q, %v", create, err)
		}
		add, err := statements.AddColumn(dialect, fields.Find("group"))
		if err != nil || fmt.Sprint(add) != fmt.Sprint(want[1:]) {
			t.Errorf("%q, %v", add, err)
		}
	}
}
