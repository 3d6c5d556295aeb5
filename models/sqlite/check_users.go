package sqlite

import (
	"errors"
	"fmt"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// CheckUsers reads every user of a database as the service will, and returns how many there are. The error says why the
// service could not.
func CheckUsers(conn *dbfile.Connection, fields models.Fields) (n int64, err error) {
	exists, err := hasTable(conn)
	if err != nil {
		return 0, err
	}
	if !exists {
		return 0, errors.New("it has no table users")
	}
	queries, err := newQueries(fields)
	if err != nil {
		return 0, err
	}
	c := &connection{Connection: conn, queries: queries}
	if err := c.checkTable(); err != nil {
		return 0, err
	}
	for _, err := range c.users(models.Query{}) {
		if err != nil {
			return n, fmt.Errorf("its users cannot be read: %w", err)
		}
		n++
	}
	return n, nil
}
