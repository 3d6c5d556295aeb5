package models

import (
	"bytes"
	"database/sql"
	"errors"

	"gorm.io/gorm"
)

// listedColumns are the columns of a user. They are expressions because the driver looks up the declared type of a
// plain column for each value, and turns a DATETIME into a time.Time; and because another program's may be NULL.
const listedColumns = `id, COALESCE(name, ''), COALESCE(email, ''), COALESCE(created_at || '', '')`

// listed selects the users as the list shows them, in its order.
func listed(db *gorm.DB) *gorm.DB {
	return db.Model(&User{}).Select(listedColumns).Order("users.id")
}

// page is a part of the list.
type page struct {
	json     []byte
	count    int
	lastID   int64
	complete bool // rows had no more
}

// appendUsers appends users to json, the list so far, until no row is left or json is longer than maxBytes, and
// closes rows. Each user but the first of the list has a comma before it.
func appendUsers(json []byte, rows *sql.Rows, maxBytes int) (page, error) {
	p := page{json: json}
	var user User
	for rows.Next() {
		if err := rows.Scan(&user.ID, &user.Name, &user.Email, &user.CreatedAt); err != nil {
			return p, errors.Join(err, rows.Close())
		}
		user.CreatedAt = shownTime(user.CreatedAt)
		if !bytes.HasSuffix(p.json, []byte("[")) {
			p.json = append(p.json, ',')
		}
		p.json = appendUser(p.json, &user)
		p.count++
		p.lastID = user.ID
		if len(p.json) > maxBytes {
			return p, rows.Close()
		}
	}
	p.complete = true
	return p, errors.Join(rows.Err(), rows.Close())
}
