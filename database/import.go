package database

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"gorm.io/gorm"

	"users-api/models"
)

// ImportRow is a user from one row of a file.
type ImportRow struct {
	Line          int   // of the file, where the row begins
	models.Values       // those that the row has: an update leaves the user's other fields alone
	Err           error // refuses the row
	IfNew         error // refuses the row if it would create a user
}

// ImportOptions say what an import does besides creating users. The zero value refuses a row whose email exists.
type ImportOptions struct {
	DryRun      bool     // does everything, but to a copy of the users
	OnConflict  Conflict // what happens to a row whose email already exists, in storage or earlier in the file
	KeepValues  bool     // an update leaves a value alone for which the row has none
	SkipRefused bool     // leaves refused rows out, instead of refusing the import
	// DeleteMissing deletes the users whose email is not in the file. It needs [ConflictUpdates], and no SkipRefused.
	DeleteMissing bool
	MaxDeletes    int // refuses the import if there are more of them
}

// Conflict says what happens to a row whose email already exists.
type Conflict int

const (
	ConflictFails   Conflict = iota // the import is refused
	ConflictSkips                   // the user stays as it is
	ConflictUpdates                 // the user gets the values of the row, and keeps its id and time
)

// Imported counts the users that an import created, updated and deleted.
type Imported struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped"` // rows whose user exists and stays as it is
	Deleted int `json:"deleted"`
	// Emptied counts, by the name of the field, the values that updates have emptied; nil if there are none.
	Emptied      map[string]int `json:"emptied,omitempty"`
	DeletedUsers []DeletedUser  `json:"deleted_users,omitzero"` // the first of them; nil without DeleteMissing
	Refused      *RefusedRows   `json:"-"`                      // those that were left out; nil without SkipRefused
}

// DeletedUser is a user that an import deletes, or would delete, because the file does not have it.
type DeletedUser struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
}

// RefusedRow is a row of a file that cannot be imported: it cannot be read, or the table does not accept it.
type RefusedRow struct {
	Line int
	Err  error

	By    int  // the line of the row with what this row needs and only one user may have; 0 if no row of the file has it
	Frees bool // that row would give it up, but comes later, or is refused

	holder string // the email, as the table compares it, of the user who has what this row needs; "" if it is not known
	needs  value  // the zero value for the email
}

// RefusedRows refuses an import. It counts every row that cannot be imported, so that a person can fix them all at
// once.
type RefusedRows struct {
	Listed       []*RefusedRow // the first of these rows, in the order of the file
	Refused, All int           // how many rows are refused, out of how many
	Last         int           // the line in which the one row ends that may have others in it, which nobody can count
}

func (r *RefusedRows) Error() string {
	return fmt.Sprintf("%d of %d rows cannot be imported", r.Refused, r.All)
}

func (r *RefusedRows) add(row *RefusedRow) {
	r.Refused++
	r.Listed = append(r.Listed, row)
	slices.SortStableFunc(r.Listed, func(a, b *RefusedRow) int { return cmp.Compare(a.Line, b.Line) })
	r.Listed = r.Listed[:min(len(r.Listed), models.MaxListed)]
}

// TooManyDeletes refuses an import that would delete more users than its MaxDeletes. Users are the first of them.
type TooManyDeletes struct {
	Missing, Max int
	Users        []DeletedUser
}

func (e *TooManyDeletes) Error() string {
	return fmt.Sprintf("the users who are not in the file are %d, and at most %d may be deleted", e.Missing, e.Max)
}

const (
	// chunkRows is how many rows of a file are looked up and stored together; fewer, once their texts have chunkBytes.
	chunkRows  = 500
	chunkBytes = 1 << 20
)

// Import stores the users of a file in one transaction: all of them, or none. The rows are read in it, perhaps again,
// so they must not come from a client. An error among them ends the import.
// The error is [*RefusedRows], [*TooManyDeletes], or as for every write. Until the commit begins, the end of the
// context takes all back.
func (u *Users) Import(ctx context.Context, rows iter.Seq2[ImportRow, error], options ImportOptions) (done Imported, err error) {
	if err := u.imports.Acquire(ctx, 1); err != nil {
		return done, err
	}
	defer u.imports.Release(1)
	if !u.writes.TryAcquire(1) { // it closes
		return done, models.ErrClosed
	}
	defer u.writes.Release(1)
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(u.ended, end)()
	transaction := u.pool.importing
	if options.DryRun {
		transaction = u.pool.trying
	}
	err = transaction(ctx, func(tx *gorm.DB) error {
		i := fileImport{Users: u, ctx: ctx, tx: tx, options: options, isNew: idSet{}}
		err := i.run(rows)
		done = i.done
		return err
	})
	if err != nil {
		return Imported{}, u.storageError(ctx, err)
	}
	if !options.DryRun {
		u.commits.Observe(1)
	}
	return done, nil
}

// fileImport is the import of one file in its transaction. Its statements fail once the context of the import has ended.
type fileImport struct {
	*Users
	ctx     context.Context
	tx      *gorm.DB
	options ImportOptions
	oneEach bool          // no two users have the same email
	unique  models.Fields // nor the same value of these fields
	looksUp bool          // the users who have what rows need are looked up before these are stored
	refused RefusedRows
	done    Imported
	users   map[string]models.User // whom the rows of a chunk mean, as those so far leave them, by [fileImport.sameEmail]
	holders holders                // who has what these rows need and only one user may have
	entries []models.Change        // of the chunk, without those of creations
	created []models.Change        // those of creations, up to MaxRecorded
	isNew   idSet                  // all of them
}

// idSet is a set of ids, 64 consecutive ones in each word: 1,000,000 users with consecutive ids take half a MiB.
type idSet map[int64]uint64

func (s idSet) add(id int64)      { s[id>>6] |= 1 << (id & 63) }
func (s idSet) has(id int64) bool { return s[id>>6]&(1<<(id&63)) != 0 }

func (i *fileImport) run(rows iter.Seq2[ImportRow, error]) error {
	for _, name := range i.table.unique {
		if field := i.fields.Find(name); field != nil && !field.Unique {
			i.unique = append(i.unique, field)
		}
	}
	i.oneEach = slices.Contains(i.table.unique, "email")
	i.looksUp = i.options.OnConflict != ConflictFails || !i.oneEach
	if i.options.OnConflict != ConflictFails && !i.oneEach {
		return models.ErrNotUnique
	}
	if i.options.DeleteMissing {
		if err := i.makeRoom(rows); err != nil {
			return err
		}
	}
	for chunk, err := range i.chunks(rows) {
		if i.refused.All += len(chunk); err == nil {
			err = i.store(chunk)
		}
		if err != nil {
			return err
		}
	}
	err := i.findNeeds(rows)
	switch {
	case err != nil:
		return err
	case i.options.SkipRefused:
		i.done.Refused = &i.refused
	case i.refused.Refused > 0:
		return &i.refused
	case i.done.Deleted > i.options.MaxDeletes:
		return &TooManyDeletes{Missing: i.done.Deleted, Max: i.options.MaxDeletes, Users: i.done.DeletedUsers}
	}
	if i.done.Created > MaxRecorded {
		i.created = []models.Change{{Op: models.OpMany}}
	}
	return i.record(i.created)
}

// chunks yields the rows of a file, some together, or the error that ends them.
func (i *fileImport) chunks(rows iter.Seq2[ImportRow, error]) iter.Seq2[[]ImportRow, error] {
	return func(yield func([]ImportRow, error) bool) {
		var chunk []ImportRow
		bytes := 0
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			chunk = append(chunk, row)
			if bytes += i.fields.Bytes(&row.Profile); len(chunk) == chunkRows || bytes >= chunkBytes {
				if !yield(chunk, nil) {
					return
				}
				chunk, bytes = chunk[:0], 0
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}

// makeRoom deletes the users who are not in the file, and lists the first: what only one user may have is then free for the
// rows. Those who have come since it began are left, as nobody has looked for them. If they are too many, all is rolled back
// in the end, when they are counted.
func (i *fileImport) makeRoom(rows iter.Seq2[ImportRow, error]) error {
	i.done.DeletedUsers = []DeletedUser{}
	var newest int64
	if err := i.tx.Model(&models.User{}).Select("coalesce(max(id), 0)").Row().Scan(&newest); err != nil {
		return err
	}
	kept := idSet{}
	for chunk, err := range i.chunks(rows) {
		if i.users, i.holders = map[string]models.User{}, (holders{}); err == nil {
			err = i.find(chunk)
		}
		if err != nil {
			return err
		}
		for _, user := range i.users {
			kept.add(user.ID)
		}
	}
	for after := int64(math.MinInt64); ; {
		var ids []int64
		some := i.tx.Model(&models.User{}).Where("id > ? AND id <= ?", after, newest).Order("id").Limit(i.dialect.maxParameters())
		if err := some.Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		ids = slices.DeleteFunc(ids, kept.has)
		var entries []models.Change // of those whom on PostgreSQL no other program has deleted meanwhile
		for user, err := range i.each(i.tx.Clauses(forDeletion).Where("id IN ?", ids).Order("id")) {
			if err != nil {
				return err
			}
			if entries = append(entries, i.deleted(user)...); len(i.done.DeletedUsers) < models.MaxListed {
				i.done.DeletedUsers = append(i.done.DeletedUsers, DeletedUser{ID: user.ID, Email: user.Email})
			}
		}
		if len(entries) == 0 {
			continue
		}
		if err := effect(i.tx.Where("id IN ?", ids).Delete(&models.User{}), len(entries)); err != nil {
			return err
		}
		if err := i.record(entries); err != nil {
			return err
		}
		i.done.Deleted += len(entries)
	}
}

// record stores entries, but not those of a dry run.
func (i *fileImport) record(entries []models.Change) error {
	if i.options.DryRun {
		return nil
	}
	return storeEntries(i.tx, i.dialect, i.signed(i.ctx, entries))
}
