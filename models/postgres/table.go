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
}

type column struct {
	name, typeName, fullType       string
	generated, primaryKey, oneUser bool

	oid            uint32
	relation, rule string
	inherited      bool
}

// describe reads the definition of the table, and returns an error if it cannot be served.
func (c connection) describe(ctx context.Context) (t table, err error) {
	columns, last := map[string]column{}, column{}
	err = c.query(ctx, func(rows pgx.Rows) error {
		err := rows.Scan(&last.name, &last.typeName, &last.fullType, &last.generated, &last.primaryKey, &last.oneUser,
			&last.oid, &last.relation, &last.rule, &last.inherited)
		columns[last.name] = last
		return err
	}, describeTable)
	if err != nil || len(columns) == 0 {
		return t, err // without a table, each statement says so by itself
	}
	created, email := columns["created_at"], columns["email"]
	t = table{last.oid, created.typeName, created.generated, email.fullType, imports.Emails{FindsUser: email.oneUser}}
	if why := unserved(columns, last, c.fields.Columns()); why != "" {
		err = &models.StorageError{
			Text: why + ": change that, or give users-api a database or a schema of its own",
			Code: codeUnserved, Meaning: "the users table cannot be served",
		}
	}
	return t, err
}

// relations are the kinds of relations that are not served.
var relations = map[string]string{
	"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "c": "a type",
}

// unserved returns why a table cannot be served, or "" if it can. It needs the columns that are served.
func unserved(columns map[string]column, relation column, served []string) string {
	var missing []string
	for _, name := range served {
		if _, exists := columns[name]; !exists {
			missing = append(missing, name)
		}
	}
	id := columns["id"]
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

// checkEvery is how often the table is checked while the service runs: another program may change it at any time.
const checkEvery = time.Second

type tableCheck struct {
	table table
	err   error
}

// checkTable returns an error while the table cannot be served. It checks at most once a second, which takes less than
// a millisecond; in between it returns the last result. After a change of the table all statements are prepared again.
func (d *database) checkTable(ctx context.Context, conn connection) error {
	last := d.checked.Load()
	now, next := time.Now().UnixNano(), d.nextCheck.Load()
	if last == nil || now < next || !d.nextCheck.CompareAndSwap(next, now+int64(checkEvery)) {
		if last == nil {
			return nil // startup creates the table first
		}
		return last.err
	}
	found, err := conn.describe(ctx)
	if _, told := errors.AsType[*models.StorageError](err); err != nil && !told {
		return err
	}
	d.checked.Store(&tableCheck{found, err})
	if found != last.table {
		d.onEmail.Clear()
		d.pool.Reset()
	}
	return err
}

// emails is what the indexes of the table did for emails at the last check.
func (d *database) emails() imports.Emails { return d.checked.Load().table.emails }

// describe checks the table for the first time; from then on [database.checkTable] does.
func (d *database) describe(ctx context.Context) (t table, err error) {
	err = d.on(ctx, lookup, func(ctx context.Context, conn connection) (err error) {
		t, err = conn.describe(ctx)
		return err
	})
	if err == nil {
		err = d.expectRights(ctx)
	}
	d.checked.Store(&tableCheck{table: t})
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
