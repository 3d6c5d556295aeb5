package database

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"

	"gorm.io/gorm/clause"

	"users-api/models"
)

// store stores a chunk of rows, and does what the options say with those whose user exists. It tries all of them together;
// if the database refuses that, one after another, so that only the rows that are to blame are refused. Then it records whom
// they have changed.
func (i *fileImport) store(rows []ImportRow) (err error) {
	i.users, i.holders, i.entries = map[string]models.User{}, holders{}, nil
	if i.looksUp {
		if err := i.find(rows); err != nil {
			return err
		}
	}
	err = i.try(rows)
	switch _, isRefusal := i.dialect.classify(err); {
	case isRefusal && !i.looksUp: // a file with one user who exists may have more
		i.looksUp = true
		return i.store(rows)
	case isRefusal:
		err = i.storeEach(rows)
	}
	if err == nil {
		err = i.record(i.entries)
	}
	return err
}

func (i *fileImport) storeEach(rows []ImportRow) error {
	for at := range rows {
		row := rows[at : at+1]
		shown, isRefusal := i.dialect.classify(i.try(row))
		failed, _ := errors.AsType[*models.StorageError](shown)
		if isRefusal && failed != nil && failed.Duplicate { // on PostgreSQL, another program has created the user meanwhile
			if err := i.find(row); err != nil {
				return err
			}
			shown, isRefusal = i.dialect.classify(i.try(row))
		}
		if isRefusal {
			i.refused.add(&RefusedRow{Line: row[0].Line, Err: shown})
		} else if shown != nil {
			return shown
		}
	}
	return nil
}

// sameEmail returns what the emails of two rows have in common if only one user may have them.
func (i *fileImport) sameEmail(email string) string {
	if i.table.ignoresCase {
		return models.LowerASCII(email)
	}
	return email
}

// value is one that only one user may have, and holders are the emails of those who have some, as sameEmail returns them.
type value struct {
	field *models.Field
	text  string
}

type holders map[value]string

// find looks up the users whom rows mean, or who have what these need.
func (i *fileImport) find(rows []ImportRow) error {
	if !i.oneEach || len(rows) == 0 {
		return nil
	}
	var emails []string
	for _, row := range rows {
		if i.dialect.holds(row.Email) {
			emails = append(emails, i.sameEmail(row.Email))
		}
	}
	column := "email"
	if i.table.ignoresCase {
		column = i.dialect.foldedEmail()
	}
	same := i.tx.Where(column+" IN ?", emails)
	if i.options.OnConflict == ConflictUpdates { // nothing else may change them until the commit
		same = same.Clauses(forChange)
	}
	for user, err := range i.each(same) {
		if err != nil {
			return err
		}
		i.users[i.sameEmail(user.Email)] = *user
	}
	for _, field := range i.unique {
		var needed []string
		for _, row := range rows {
			if text := field.Value(&row.Profile); !models.IsEmpty(text) && i.dialect.holds(*text) {
				needed = append(needed, *text)
			}
		}
		column := quote(field.Name)
		for user, err := range i.each(i.tx.Where(column+" IN ? AND "+column+" <> ''", needed)) { // as the index may have it
			if err != nil {
				return err
			}
			i.holders[value{field, *field.Value(&user.Profile)}] = i.sameEmail(user.Email)
		}
	}
	return nil
}

// take gives the person with an email, who is as before, the values of a row that only one user may have. If another has one
// of them, it returns the refusal of the row. Empty ones are left to the database.
func (h holders) take(row *ImportRow, email string, before *models.Profile, unique models.Fields) *RefusedRow {
	for _, field := range unique {
		if text := field.Value(&row.Profile); !models.IsEmpty(text) {
			needs := value{field, *text}
			if holder := h[needs]; holder != "" && holder != email {
				used := &models.StorageError{Unique: true, Column: field.Name}
				return &RefusedRow{Line: row.Line, Err: used, holder: holder, needs: needs}
			}
		}
	}
	for _, field := range unique {
		if text := field.Value(before); row.Given.Has(field) && !models.IsEmpty(text) {
			delete(h, value{field, *text})
		}
		if text := field.Value(&row.Profile); !models.IsEmpty(text) {
			h[value{field, *text}] = email
		}
	}
	return nil
}

// person is a user whom rows mean, as they leave it.
type person struct {
	models.User                // with the id 0 until it is stored
	before      models.Profile // that of one who exists
}

// try carries out rows behind a savepoint. What the database refuses leaves no trace. Unlike GORM's Transaction it releases
// the savepoint, as SQLite keeps the old pages of each open one: 10 GB in an import of 1,000,000 users. And it notices
// that a trigger has ended the transaction (RAISE(ROLLBACK)): then the import fails, and not only what is refused.
func (i *fileImport) try(rows []ImportRow) error {
	done, refused := i.done, i.refused
	done.Emptied, refused.Listed = maps.Clone(done.Emptied), slices.Clone(refused.Listed)
	holders := maps.Clone(i.holders)
	meant, existing, missing := i.plan(rows, holders)
	if err := i.tx.Exec("SAVEPOINT one").Error; err != nil {
		return recordError{err}
	}
	if err := i.carryOut(existing, missing); err != nil {
		i.done, i.refused = done, refused
		if i.tx.Exec("ROLLBACK TO SAVEPOINT one; RELEASE SAVEPOINT one").Error != nil {
			return recordError{err}
		}
		return err
	}
	if err := i.tx.Exec("RELEASE SAVEPOINT one").Error; err != nil {
		return recordError{err}
	}
	for email, one := range meant {
		i.users[email] = one.User
	}
	i.holders = holders
	return nil
}

// plan goes through rows in their order, and returns whom they mean: those who exist, and those who are missing and created,
// each once, as the last of its rows leaves it. A unique value may go from one to a later one.
func (i *fileImport) plan(rows []ImportRow, holders holders) (meant map[string]*person, existing, missing []*person) {
	meant = make(map[string]*person, len(rows))
	for _, row := range rows {
		email := i.sameEmail(row.Email)
		one := meant[email]
		if user, exists := i.users[email]; exists && one == nil {
			one = &person{User: user, before: user.Profile}
			meant[email], existing = one, append(existing, one)
		}
		var stored *models.Profile
		if one != nil && i.options.OnConflict != ConflictFails {
			stored = &one.Profile
		}
		why := cmp.Or(row.Err, i.fields.Settle(&row.Values, stored))
		if one == nil {
			why = cmp.Or(why, row.IfNew)
		}
		var refusal *RefusedRow
		switch {
		case why != nil:
			refusal = &RefusedRow{Line: row.Line, Err: why}
		case one == nil:
			if refusal = holders.take(&row, email, &models.Profile{}, i.unique); refusal != nil {
				break
			}
			i.done.Created++
			one = &person{User: i.newUser(row.Profile)}
			if missing = append(missing, one); i.oneEach {
				meant[email] = one
			}
		case i.options.OnConflict == ConflictUpdates:
			refusal = i.update(one, &row, email, holders)
		case i.options.OnConflict == ConflictSkips:
			i.done.Skipped++
		default:
			refusal = &RefusedRow{Line: row.Line, Err: models.ErrEmailUsed, holder: email}
		}
		if refusal != nil {
			i.refused.add(refusal)
		}
	}
	return meant, existing, missing
}

// update gives a user the values of a row, or returns its refusal. It keeps its email: the two may differ in their letter
// case.
func (i *fileImport) update(one *person, row *ImportRow, email string, holders holders) *RefusedRow {
	for field := range i.fields.In(row.Given) {
		if i.options.KeepValues && models.IsEmpty(field.Value(&row.Profile)) {
			row.Given &^= field.Bit
		}
	}
	if refusal := holders.take(row, email, &one.Profile, i.unique); refusal != nil {
		return refusal
	}
	differing := i.fields.Differing(&row.Values, &one.Profile) &^ i.fields.Find("email").Bit
	if differing == 0 {
		i.done.Skipped++
		return nil
	}
	for field := range i.fields.In(differing) {
		if models.IsEmpty(field.Value(&row.Profile)) && !models.IsEmpty(field.Value(&one.Profile)) {
			if i.done.Emptied == nil {
				i.done.Emptied = map[string]int{}
			}
			i.done.Emptied[field.Name]++
		}
	}
	i.done.Updated++
	one.User = i.changedUser(one.User, differing, &row.Profile)
	return nil
}

// carryOut stores people: up to 80 in a statement, and 266 on PostgreSQL. Who exists is stored as a whole by the id, which the
// transaction has locked, and before who is missing, as what only one user may have is theirs until then.
func (i *fileImport) carryOut(existing, missing []*person) error {
	var changed, inserted []*models.User
	var entries []models.Change
	for _, one := range existing {
		after := models.Values{Given: i.fields.All() &^ i.fields.TimeSet(), Profile: one.Profile}
		differing := i.fields.Differing(&after, &one.before)
		if differing == 0 { // or a later row has put back what one was
			continue
		}
		if changed = append(changed, &one.User); !i.isNew.has(one.ID) {
			entries = append(entries, i.changed(one.ID, differing, &one.before, &one.Profile)...)
		}
	}
	for _, one := range missing {
		inserted = append(inserted, &one.User)
	}
	byID := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns(i.fields.Names())}
	together := i.dialect.maxParameters() / (len(i.fields) + 1)
	if err := effect(i.tx.Clauses(byID).Omit("created_at").CreateInBatches(changed, together), len(changed)); err != nil {
		return err
	}
	if err := effect(i.tx.Clauses(returnID).CreateInBatches(inserted, together), len(inserted)); err != nil {
		return err
	}
	i.entries = append(i.entries, entries...)
	for _, user := range inserted {
		if i.isNew.add(user.ID); len(i.created) < MaxRecorded {
			i.created = append(i.created, created(user.ID)...)
		}
	}
	return nil
}

// findNeeds finds the rows with what listed rows need.
func (i *fileImport) findNeeds(rows iter.Seq2[ImportRow, error]) error {
	needing, isRefused := map[string][]*RefusedRow{}, map[int]bool{}
	for _, row := range i.refused.Listed {
		if isRefused[row.Line] = true; row.holder != "" {
			needing[row.holder] = append(needing[row.holder], row)
		}
	}
	if len(needing) == 0 {
		return nil
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		for _, refused := range needing[i.sameEmail(row.Email)] {
			field, has := refused.needs.field, (*string)(nil)
			if field != nil {
				has = field.Value(&row.Profile)
			}
			hasIt := field == nil || has != nil && *has == refused.needs.text
			switch {
			case refused.By > 0 || row.Line == refused.Line:
			case hasIt && row.Line < refused.Line && !isRefused[row.Line]:
				refused.By = row.Line
			case !hasIt && i.options.OnConflict == ConflictUpdates && row.Given.Has(field) && !(has == nil && i.options.KeepValues):
				refused.By, refused.Frees = row.Line, true
			}
		}
	}
	return nil
}
