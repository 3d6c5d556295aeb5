package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
	"users-api/models/statements"
)

// IndexSearch creates an index of trigrams for each field, with which the server finds the users whose field contains a
// text. It is on the expression that searches compare, and the server compares what it finds, so searches find the same.
func IndexSearch(ctx context.Context, url string, fields models.Fields, logger *slog.Logger) error {
	return changeSchema(ctx, url, logger, func(d *database) error {
		err := d.inTurn(ctx, func() error {
			schema, err := d.trigrams(ctx, fields)
			for _, field := range fields {
				if err == nil {
					err = d.build(ctx, searchIndex(field, schema), func(context.Context) error { return nil }, logger)
				}
			}
			if err != nil {
				return err
			}
			// Only with figures about the expressions can the planner tell rare texts from frequent ones.
			return d.onOne(ctx, func(conn connection) error { return conn.simple(ctx, "ANALYZE users") })
		})
		if err != nil {
			return err
		}
		return sleep(ctx, checkEvery+checkEvery/10) // as for IgnoreEmailCase
	})
}

// searchIndex returns the index of a field. The schema is that of the extension pg_trgm.
func searchIndex(field *models.Field, schema string) index {
	name := "users_search_" + field.Name
	return index{
		name:   name,
		create: fmt.Sprintf(createSearchIndex, name, fmt.Sprintf(folded, quoted(field.Name)), schema),
		find:   fmt.Sprintf(findSearchIndexes, "= '"+name+"'"),
	}
}

// trigrams creates the extension pg_trgm, if there is none, and returns its schema.
func (d *database) trigrams(ctx context.Context, fields models.Fields) (schema string, err error) {
	err = d.onOne(ctx, func(conn connection) error {
		if err := conn.expectColumns(ctx, fields); err != nil {
			return err
		}
		if err := conn.simple(ctx, createTrigrams); err != nil {
			return explainTrigrams(err)
		}
		return conn.value(ctx, &schema, schemaOfTrigrams)
	})
	return schema, err
}

// expectColumns returns an error if the table lacks the column of a field.
func (c connection) expectColumns(ctx context.Context, fields models.Fields) error {
	var missing []string
	for _, field := range fields {
		exists := false
		if err := c.value(ctx, &exists, columnExists, field.Name); err != nil {
			return err
		}
		if field.Added && !exists {
			missing = append(missing, field.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &models.StorageError{Text: models.MissingColumns(missing), Code: codeUnserved}
}

// explainTrigrams says what to do if the extension cannot be created.
func explainTrigrams(err error) error {
	failed, refused := errors.AsType[*pgconn.PgError](err)
	if !refused {
		return err
	}
	help := ""
	switch failed.Code {
	case codeNoRight:
		help = "as the owner of the database or as a superuser, run `CREATE EXTENSION pg_trgm`"
	case codeNoFile, codeUnsupported:
		help = "install PostgreSQL's contrib modules on the server (Debian's postgresql has them), then run the command again"
	default:
		return err
	}
	return &models.StorageError{Text: "the extension pg_trgm is needed: " + failed.Message + ": " + help, Code: codeUnserved}
}

// DropSearchIndex removes the indexes of searches, and leaves the extension, which others may use.
func DropSearchIndex(ctx context.Context, url string, logger *slog.Logger) error {
	return changeSchema(ctx, url, logger, func(d *database) error {
		return d.alone(ctx, func(conn connection) error {
			var names []string
			err := conn.query(ctx, func(rows pgx.Rows) error {
				var name string
				err := rows.Scan(&name, nil)
				names = append(names, name)
				return err
			}, fmt.Sprintf(findSearchIndexes, `LIKE 'users\_search\_%'`))
			if err != nil || len(names) == 0 {
				return err
			}
			return conn.simple(ctx, "DROP INDEX "+strings.Join(names, ", "))
		})
	})
}

// seeking prepares a connection for a search that an index may serve. A statement that is kept prepared has one plan for
// rare and frequent texts, so it is not kept.
//
// Trigrams are of letters in lower case, and in some databases that of a capital beyond ASCII depends on the letters that
// follow, such as Σ at the end of a word. The index would miss a user in whom others follow. So it is not used for those.
func (c connection) seeking(ctx context.Context, text string) (connection, error) {
	if text == "" || !c.indexed {
		return c, nil
	}
	c.replans = true
	if text = models.LowerASCII(text); text == strings.ToLower(text) {
		return c, nil
	}
	return c, c.simple(ctx, withoutIndex)
}

// access is how the users are found who contain a text. The planner takes a rare text for one that one user in 10,000 has: of
// 10,000,000, the first 16 would seem to be found soon among the lowest ids, and it would leave the index aside. So it does
// not see how many are wanted of those who contain a text of three characters, which the index may find.
func (c connection) access(text string) statements.Access {
	if c.replans && utf8.RuneCountInString(text) >= 3 {
		return statements.Planned
	}
	return statements.Scan
}
