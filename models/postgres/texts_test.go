package postgres

import (
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// Every statement names the columns of the table of fields, and keeps a name that is a keyword apart.
func TestStatementsAreBuiltFromTheTableOfFields(t *testing.T) {
	fields := storetest.Fields()
	order := *fields[0]
	order.Name = "order"
	odd := models.Fields{&order}
	for _, test := range []struct{ name, text, want string }{
		{"a creation", insertUsers(fields, "now()"), `WITH written AS (INSERT INTO users ("name", "email", created_at) ` +
			`SELECT "name", "email", now() FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS _new ("name", "email", _place) ` +
			"ORDER BY _place RETURNING id::int8) SELECT * FROM written WHERE (SELECT CASE WHEN count(*) = cardinality($1) " +
			"THEN true ELSE ('" + ignoredMark + "' || count(*))::bool END FROM written)"},
		{"an update", updateUsers(fields), `UPDATE users SET "name" = _new."name", "email" = _new."email" ` +
			`FROM unnest($1::int8[], $2::text[], $3::text[]) AS _new (id, "name", "email") WHERE users.id = _new.id`},
		{"an update of a field that is a keyword", updateUsers(odd), `UPDATE users SET "order" = _new."order" FROM ` +
			`unnest($1::int8[], $2::text[]) AS _new (id, "order") WHERE users.id = _new.id`},
		{"a copy", copyUsers(fields), `COPY users (id, "name", "email", created_at) FROM STDIN`},
		{"a copy by INSERT", insertCopies(odd, "timestamptz"), `INSERT INTO users (id, "order", created_at) OVERRIDING SYSTEM ` +
			`VALUE SELECT id, "order", created_at::timestamptz FROM unnest($1::int8[], $2::text[], $3::text[]) ` +
			`AS _new (id, "order", created_at)`},
	} {
		if test.text != test.want {
			t.Errorf("%s is\n%s\nwant\n%s", test.name, test.text, test.want)
		}
	}
}

// The time is read and set as the type of its column needs it.
func TestStatementsDependOnTheTypeOfTheTime(t *testing.T) {
	for _, test := range []struct{ timeType, selected, now string }{
		{"timestamptz", "created_at", "date_trunc('second', now())"},
		{"date", "created_at::timestamp", "(now() AT TIME ZONE 'UTC')::date"},
		{"varchar", "created_at", "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"},
		{"int4", "created_at::text", ""},
	} {
		queries, err := newQueries(table{timeType: test.timeType}, storetest.Fields())
		if err != nil {
			t.Fatal(err)
		}
		want := `SELECT id, "name"::text, "email"::text, ` + test.selected + ` FROM "users" WHERE id = $1::int8`
		if queries.ByID != want || queries.insert != insertUsers(queries.fields, test.now) {
			t.Errorf("%s: %s\n%s", test.timeType, queries.ByID, queries.insert)
		}
	}
}
