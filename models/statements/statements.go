// Package statements builds the SQL of every statement on users from the model, with GORM, without opening a database.
// The engines prepare the statements and run them: reading a row through GORM takes longer than SQLite takes to find it.
//
// What differs between the engines is in a [Dialect]. What GORM cannot express (pragmas, catalogs, COPY, unnest,
// savepoints) is written by hand, in sql.go of each engine.
package statements

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"users-api/models"
)

// Dialect is what the SQL of one engine has of its own.
type Dialect struct {
	gorm.Dialector // for names, placeholders and types

	Text, Time       string // how a statement reads a text, and the time: %s is the column
	Number, Limit    string // the placeholders of an id and of a number of rows
	HiddenLimit      string // a placeholder of a number of rows that the engine's planner does not see: see [Planned]
	ID               string // the id as a number
	Contains         string // the condition for a column that contains a text: %s is the column
	SameIgnoringCase string // the condition for a column that equals a text but for the case of ASCII letters: likewise
	Now              string // the time of a creation; if it is empty, the table sets the time
	// Found and Written are joined with users to search by an index: the ids of the users whom it finds, of which the
	// placeholder is what is sought, and of those who were written since they were indexed. No id is in both.
	Found, Written string
	Returning      bool // a change returns the user as stored after it, and a deletion the id
}

// Statements are the statements on users for one engine and one table of fields.
type Statements struct {
	ByID      string // the user with an id
	InRange   string // the users with ids from the first to the last given
	IDs       string // the ids that are at least the given one, lowest first, and at most a number of them
	HighestID string
	Insert    string // creates a user from the values of all fields
	Delete    string // deletes the user with an id

	fields  models.Fields
	dialect Dialect
	db      *gorm.DB
	// What follows is built when a request first needs it: there are as many as combinations of fields.
	updates    cache[models.FieldSet, string]
	selections cache[selectionKey, Selection]
}

// Selection holds the statements that select the users of a query, and that count how many match.
type Selection struct{ Users, Count string }

// Build builds the statements.
func Build(dialect Dialect, fields models.Fields) (*Statements, error) {
	db, err := open(dialect)
	if err != nil {
		return nil, err
	}
	s := &Statements{fields: fields, dialect: dialect, db: db}
	one := "id = " + dialect.Number
	s.ByID = s.users(s.model().Where(one, 0))
	s.InRange = s.users(s.model().Where(fmt.Sprintf("id BETWEEN %s AND %[1]s", dialect.Number), 0, 0).Order("id"))
	s.IDs = text(s.model().Select(dialect.ID).Where("id >= "+dialect.Number, 0).Order("id").Limit(1).Find(&[]models.User{}))
	s.HighestID = text(s.model().Select("max(id)").Find(&[]models.User{}))
	s.Insert = s.insert()
	s.Delete = text(s.returning(dialect.ID).Where(one, 0).Delete(&models.User{}))
	return s, nil
}

// hidesLimit is the setting of GORM that marks a statement with a HiddenLimit.
const hidesLimit = "hides limit"

func open(dialect Dialect) (*gorm.DB, error) {
	return gorm.Open(compiler{dialect}, &gorm.Config{DryRun: true, SkipDefaultTransaction: true, Logger: logger.Discard})
}

// compiler is a dialect that never connects. GORM's own would open a database, and ask for its version.
type compiler struct{ Dialect }

// Initialize implements [gorm.Dialector].
func (c compiler) Initialize(db *gorm.DB) error {
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		UpdateClauses: []string{"UPDATE", "SET", "WHERE", "RETURNING"},
		DeleteClauses: []string{"DELETE", "FROM", "WHERE", "RETURNING"},
	})
	// GORM's own would write the number itself into the statement.
	db.ClauseBuilders["LIMIT"] = func(_ clause.Clause, to clause.Builder) {
		limit := c.Limit
		if hidden, _ := to.(*gorm.Statement).Settings.Load(hidesLimit); hidden == true {
			limit = c.HiddenLimit
		}
		_, _ = to.WriteString("LIMIT ")
		to.AddVar(to, clause.Expr{SQL: limit, Vars: []any{0}})
	}
	return nil
}

func text(built *gorm.DB) string { return built.Statement.SQL.String() }

func (s *Statements) model() *gorm.DB { return s.db.Model(&models.User{}) }

func (s *Statements) users(query *gorm.DB) string {
	return text(query.Select(s.UserColumns()).Find(&[]models.User{}))
}

// UserColumns returns the columns of a user in the order in which every statement returns them: the id, the fields, and
// the time.
func (s *Statements) UserColumns() string {
	columns := []string{"id"}
	for _, field := range s.fields {
		columns = append(columns, fmt.Sprintf(s.dialect.Text, s.quoted(field)))
	}
	return strings.Join(append(columns, fmt.Sprintf(s.dialect.Time, "created_at")), ", ")
}

// quoted returns the column of a field, whose name may be a keyword.
func (s *Statements) quoted(field *models.Field) string { return s.db.Statement.Quote(field.Name) }

// returning begins a statement that writes, and that returns columns if the dialect can.
func (s *Statements) returning(columns string) *gorm.DB {
	if !s.dialect.Returning {
		return s.model()
	}
	return s.model().Clauses(clause.Returning{Columns: []clause.Column{{Name: columns, Raw: true}}})
}

// insert builds the statement from its clauses: GORM's Create would let the model's default set the time. The time is named
// because a table that another program created may have no default for it.
func (s *Statements) insert() string {
	columns, row := []clause.Column{}, []any{}
	for _, field := range s.fields {
		columns, row = append(columns, clause.Column{Name: field.Name}), append(row, "")
	}
	if s.dialect.Now != "" {
		columns, row = append(columns, clause.Column{Name: "created_at"}), append(row, clause.Expr{SQL: s.dialect.Now})
	}
	statement := s.model().Clauses(clause.Insert{}, clause.Values{Columns: columns, Values: [][]any{row}}).Statement
	_ = statement.Parse(statement.Model) // Build has parsed it before
	statement.Build("INSERT", "VALUES")
	return statement.SQL.String()
}

// Update returns the statement that gives fields new values. Its parameters are the values, in the order of the table of
// fields, and the id.
func (s *Statements) Update(fields models.FieldSet) string {
	return s.updates.get(fields, func() string {
		var set clause.Set
		for field := range s.fields.In(fields) {
			set = append(set, clause.Assignment{Column: clause.Column{Name: field.Name}, Value: ""})
		}
		return text(s.returning(s.UserColumns()).Clauses(set).Where("id = "+s.dialect.Number, 0).Updates(map[string]any{}))
	})
}

// Matching returns the values for the parts of a query that decide which users match. Each field that is searched has
// the pattern once.
func (s *Statements) Matching(query models.Query, pattern func(contains string) string) []any {
	values := make([]any, 0, 8) // with room for what the caller adds
	for field := range s.fields.In(query.Equal.Fields) {
		values = append(values, *field.Value(&query.Equal.User))
	}
	if query.Contains != "" {
		sought := pattern(query.Contains)
		for range s.fields {
			values = append(values, sought)
		}
	}
	return values
}

// Parameters returns the values of fields as the parameters of a statement: a text, or nil for NULL.
func (s *Statements) Parameters(values models.Values) []any {
	parameters := make([]any, 0, len(s.fields)+1) // with room for an id
	for _, field := range s.fields {
		if !values.Fields.Has(field) {
			continue
		}
		if text := field.Value(&values.User); text != nil {
			parameters = append(parameters, *text)
		} else {
			parameters = append(parameters, nil)
		}
	}
	return parameters
}
