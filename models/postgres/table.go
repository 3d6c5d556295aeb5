package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/imports"
	"users-api/models/statements"
)

// newTable is the table users as this engine creates it: the model, with PostgreSQL's own types for the id and the
// time.
type newTable struct {
	ID int64 `gorm:"primaryKey;generated:identity"`
	models.NewUser
	CreatedAt string `gorm:"->;type:timestamptz(0);default:now()"`
}

// createTries is how often createTable looks for the table and creates it, if other programs create it at the same
// time.
const createTries = 3

// createTable creates the table users if nothing of that name is found on the search path, and leaves alone what is
// there. GORM's AutoMigrate would change an existing table on any difference.
func (d *database) createTable(ctx context.Context) error {
	script, err := statements.CreateTable(table{}.dialect(), newTable{}, d.fields)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	for range createTries {
		err = d.try(ctx, use{limit: searchTime}, func(ctx context.Context, conn connection) error {
			return conn.createTable(ctx, strings.Join(script, ";"))
		})
		if code := sqlState(err); code != codeTableExists && code != codeDuplicate && class(code) != classRollback {
			break
		}
	}
	return err
}

// createTable creates the table unless it exists. If two processes create it at once, PostgreSQL refuses one of them
// midway: so processes take turns, and each checks again, which only READ COMMITTED allows. The lock ends with its
// transaction, because behind a pooler a lock that outlives it is never released.
func (c connection) createTable(ctx context.Context, script string) error {
	exists := false
	if err := c.value(ctx, &exists, tableExists); err != nil || exists {
		return err
	}
	return c.transaction(ctx, func() error {
		if err := c.simple(ctx, fmt.Sprintf(takeTurn, int64(createLock))); err != nil {
			return err
		}
		if err := c.value(ctx, &exists, tableExists); err != nil || exists {
			return err
		}
		return c.simple(ctx, script)
	})
}

// table is what must be known about the table users, which another program may have created.
type table struct {
	oid      uint32
	timeType string
	// ownTime: the table sets the time itself, and accepts no other.
	ownTime bool
	// emailType is the type of an email, as it is written in a statement.
	emailType string
	// emails is what the indexes do for emails.
	emails imports.Emails
	// recording: changes are recorded.
	recording bool
	// indexed: there is an index for searches.
	indexed bool
}

type column struct {
	name, typeName, fullType                    string
	generated, primaryKey, oneUser, ignoresCase bool

	oid            uint32
	relation, rule string
	inherited      bool
	recording      bool
	indexed        bool
}

// describe reads the definition of the table, and returns an error if it cannot be served.
func (c connection) describe(ctx context.Context) (t table, err error) {
	columns, last := map[string]column{}, column{}
	err = c.query(ctx, func(rows pgx.Rows) error {
		err := rows.Scan(&last.name, &last.typeName, &last.fullType, &last.generated, &last.primaryKey, &last.oneUser,
			&last.ignoresCase, &last.oid, &last.relation, &last.rule, &last.inherited, &last.recording, &last.indexed)
		columns[last.name] = last
		return err
	}, describeTable)
	if err != nil || len(columns) == 0 {
		return t, err // without a table, each statement says so by itself
	}
	created, email := columns["created_at"], columns["email"]
	t = table{last.oid, created.typeName, created.generated, email.fullType,
		imports.Emails{FindsUser: email.oneUser || email.ignoresCase, IgnoresCase: email.ignoresCase}, last.recording, last.indexed}
	if why := unserved(columns, last, c.fields); why != "" {
		err = &models.StorageError{Text: why, Code: codeUnserved, Meaning: "the users table cannot be served"}
	}
	return t, err
}

// relations are the kinds of relations that are not served.
var relations = map[string]string{
	"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "c": "a type",
}

// unserved returns why a table cannot be served and what to do, or "" if it can be.
func unserved(columns map[string]column, relation column, fields models.Fields) string {
	missing, missingAdded := missingColumns(columns, fields)
	if why := unservedTable(columns["id"], relation, missing); why != "" {
		return why + ": change that, or give users-api a database or a schema of its own"
	}
	if len(missingAdded) > 0 {
		return models.MissingColumns(missingAdded)
	}
	for _, field := range fields {
		if why := unservedColumn(columns[field.Name]); field.Added && why != "" {
			return fmt.Sprintf("the column %s of users %s: change that, or take it out of USER_FIELDS", field.Name, why)
		}
	}
	return ""
}

// missingColumns returns the names of the columns that a table lacks: those of every service, and those that a setting
// adds.
func missingColumns(columns map[string]column, fields models.Fields) (own, added []string) {
	for _, name := range fields.Columns() {
		field := fields.Find(name)
		switch _, exists := columns[name]; {
		case exists:
		case field != nil && field.Added:
			added = append(added, name)
		default:
			own = append(own, name)
		}
	}
	return own, added
}

func unservedTable(id, relation column, missing []string) string {
	switch kind := relations[relation.relation]; {
	case kind != "":
		return "users is " + kind + " and not a table"
	case relation.rule != "":
		return fmt.Sprintf("users has the rule %q, and a table with rules is not served", relation.rule)
	case relation.inherited:
		return "other tables inherit from users, so that two users may have one id"
	case len(missing) > 0:
		return "users has no column " + strings.Join(missing, ", ")
	case id.typeName != "int2" && id.typeName != "int4" && id.typeName != "int8":
		return fmt.Sprintf("the column id of users is of type %s, and it must be smallint, integer or bigint", id.typeName)
	case !id.primaryKey:
		return "the column id is not the primary key of users"
	}
	return ""
}

// unservedColumn returns why a column cannot be that of a field that a setting adds.
func unservedColumn(c column) string {
	switch c.typeName {
	case "text", "varchar", "bpchar", "citext":
	default:
		return fmt.Sprintf("is of type %s, and it must be text, varchar, char or citext", c.fullType)
	}
	if c.generated {
		return "is generated, so that no user can be given a value for it"
	}
	return ""
}

// checkEvery is how often the table is checked while the service runs: another program may change it at any time.
const checkEvery = time.Second

type tableCheck struct {
	table table
	err   error
	begun time.Time
}

// checkTable returns what the table is, or an error while the table cannot be served. It returns the result of a check that
// began within the last second, or checks again, which takes less than a millisecond. After a change of the table all
// statements are prepared again.
func (d *database) checkTable(ctx context.Context, conn connection) (table, error) {
	if conn.after != nil {
		return conn.after.primary.table, nil // on a standby, the table is what it is on the primary
	}
	last := d.checked.Load()
	if last == nil {
		return table{}, nil // startup creates the table first
	}
	if time.Since(last.begun) < checkEvery {
		return last.table, last.err
	}
	begun := time.Now()
	found, err := conn.describe(ctx)
	if _, told := errors.AsType[*models.StorageError](err); err != nil && !told {
		return found, err
	}
	d.checked.Store(&tableCheck{found, err, begun})
	if found != last.table {
		d.onEmail.Clear()
		d.pool.Reset()
	}
	return found, err
}

// describe checks the table for the first time; from then on [database.checkTable] does.
func (d *database) describe(ctx context.Context) (t table, err error) {
	begun := time.Now()
	err = d.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		t, err = conn.describe(ctx)
		return err
	})
	if err == nil {
		err = d.expectRights(ctx)
	}
	d.checked.Store(&tableCheck{table: t, begun: begun})
	return t, err
}

// expectRights returns an error if this user may not do all that is needed.
func (d *database) expectRights(ctx context.Context) error {
	var missing string
	err := d.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		return conn.value(ctx, &missing, missingRights)
	})
	if err == nil && missing != "" {
		err = &models.StorageError{Text: "permission denied for users: " + missing, Code: codeNoRight}
	}
	return err
}
