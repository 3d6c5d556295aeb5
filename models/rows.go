package models

import (
	"bytes"
	"database/sql"
	"errors"

	"gorm.io/gorm"
)

// listedColumns are the columns of a user as the list shows them, whatever another program has put into the table.
//
// They are expressions because the driver looks up the declared type of a plain column for each value, and turns
// a DATETIME into a time.Time. Times in ISO form, with fractions or an offset become UTC in the specification's
// format; what is no time stays as it stands, and strftime would take text such as "now" for one.
const listedColumns = `id, COALESCE(name, '') AS name, COALESCE(email, '') AS email, CASE
	WHEN created_at GLOB '????-??-?? ??:??:??' THEN created_at || ''
	WHEN created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
		THEN COALESCE(strftime('%Y-%m-%d %H:%M:%S', created_at), created_at || '')
	ELSE COALESCE(created_at || '', '') END AS created_at`

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
