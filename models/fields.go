package models

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Field is a field of a user. A client may set it, unless it is a time.
type Field struct {
	Name     string // of the column, of the JSON key, of the column of a file, and of the parameter of a list
	Required bool   // the value is a text that is not empty; otherwise it is a text or NULL
	Unique   bool   // no two users have the same value, and the table has an index that finds its user
	Added    bool   // a setting adds it: the model has no column for it
	Time     bool   // storage sets it: clients read it as they read created_at, which has no entry here
	Type     *Type  // of an added field; nil for a text

	Bit      FieldSet // the set of this field alone
	key      string   // in JSON, with the comma before and the colon after it
	text     func(*Profile) *string
	nullable func(*Profile) **string
}

// required returns a field that every user has. A NULL that another program stored is shown as an empty text.
func required(name string, text func(*Profile) *string) *Field {
	return &Field{Name: name, Required: true, text: text}
}

// optional returns a field that may be NULL.
func optional(name string, nullable func(*Profile) **string) *Field {
	return &Field{Name: name, nullable: nullable}
}

// UpdatedAt is the field that is a time: storage gives it that of each creation and change.
const UpdatedAt = "updated_at"

// added returns the fields that a setting adds. Each has a place in [Profile.Added].
func added(names []string) (fields Fields) {
	for at, declared := range names {
		name, of, _ := ParseField(declared)
		field := optional(name, func(u *Profile) **string {
			if u.Added == nil {
				u.Added = make([]*string, len(names))
			}
			return &u.Added[at]
		})
		field.Added, field.Time, field.Type = true, name == UpdatedAt, of
		fields = append(fields, field)
	}
	return fields
}

func unique(field *Field) *Field {
	field.Unique = true
	return field
}

// Value returns the value of the field, or nil for NULL.
func (f *Field) Value(user *Profile) *string {
	if f.Required {
		return f.text(user)
	}
	return *f.nullable(user)
}

// Set gives the field a text.
func (f *Field) Set(user *Profile, text string) {
	if f.Required {
		*f.text(user) = text
	} else {
		*f.nullable(user) = new(text)
	}
}

// SetNull gives the field no value. A required field becomes empty.
func (f *Field) SetNull(user *Profile) {
	if f.Required {
		*f.text(user) = ""
	} else {
		*f.nullable(user) = nil
	}
}

// Copy gives the field the value that another user has.
func (f *Field) Copy(to, from *Profile) {
	if text := f.Value(from); text != nil {
		f.Set(to, *text)
	} else {
		f.SetNull(to)
	}
}

// Fields is the table of fields.
type Fields []*Field

// Find returns the field with a name, or nil.
func (f Fields) Find(name string) *Field {
	for _, field := range f {
		if field.Name == name {
			return field
		}
	}
	return nil
}

// Settable returns the fields that a client may set.
func (f Fields) Settable() Fields {
	return slices.DeleteFunc(slices.Clone(f), func(field *Field) bool { return field.Time })
}

// Times returns the names of the columns that are times, which are only read, and compared as they are shown.
func (f Fields) Times() []string {
	return append([]string{"created_at"}, f.names(func(field *Field) bool { return field.Time })...)
}

// IsTime reports whether a column is a time.
func (f Fields) IsTime(column string) bool { return slices.Contains(f.Times(), column) }

// Text returns what a user has in a column, as a file shows it: no value is an empty text.
func (f Fields) Text(user *User, column string) string {
	switch column {
	case "id":
		return strconv.FormatInt(user.ID, 10)
	case "created_at":
		return user.CreatedAt
	}
	return f.Find(column).textOf(&user.Profile)
}

func (f *Field) textOf(user *Profile) string {
	if text := f.Value(user); text != nil {
		return *text
	}
	return ""
}

// All returns the set of all fields.
func (f Fields) All() FieldSet { return 1<<len(f) - 1 }

// In yields the fields of a set.
func (f Fields) In(set FieldSet) iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for _, field := range f {
			if set.Has(field) && !yield(field) {
				return
			}
		}
	}
}

// TimeSet returns the set of the fields that are times.
func (f Fields) TimeSet() (times FieldSet) {
	for _, field := range f {
		if field.Time {
			times |= field.Bit
		}
	}
	return times
}

// NamesIn returns the names of the fields of a set.
func (f Fields) NamesIn(set FieldSet) []string { return f.names(set.Has) }

// Names returns the names of all fields.
func (f Fields) Names() []string { return f.names(func(*Field) bool { return true }) }

// RequiredNames returns the names of the required fields.
func (f Fields) RequiredNames() []string { return f.names(func(f *Field) bool { return f.Required }) }

// OptionalNames returns the names of the others.
func (f Fields) OptionalNames() []string { return f.names(func(f *Field) bool { return !f.Required }) }

func (f Fields) names(where func(*Field) bool) (names []string) {
	for _, field := range f {
		if where(field) {
			names = append(names, field.Name)
		}
	}
	return names
}

// Columns returns the names of all columns in the order in which a user is shown: optional fields follow the time.
func (f Fields) Columns() []string {
	return slices.Concat([]string{"id"}, f.RequiredNames(), []string{"created_at"}, f.OptionalNames())
}

// Expect returns an error if a table with some columns lacks one of a user, and says what to do.
func (f Fields) Expect(columns []string) error {
	var missing []string
	hint := ""
	for _, name := range f.Columns() {
		switch field := f.Find(name); {
		case slices.Contains(columns, name):
		case field == nil || field.Required:
			return Unserved("it has no column " + name + ", spelled so: add it, or give users-api another database")
		default:
			missing = append(missing, name)
			if field.Added {
				hint = ", or take what is missing out of USER_FIELDS"
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &StorageError{
		Text: "the table users has no column " + strings.Join(missing, ", no column ") + ": run `users-api add-field " +
			strings.Join(missing, "`, `users-api add-field ") + "`" + hint,
		Meaning: "the table users cannot be served",
	}
}

// Bytes returns how many bytes the texts of a user have.
func (f Fields) Bytes(user *Profile) (bytes int) {
	for _, field := range f {
		if text := field.Value(user); text != nil {
			bytes += len(*text)
		}
	}
	return bytes
}

// FieldSet is a set of up to 64 fields.
type FieldSet uint64

// Has reports whether a field is in the set.
func (s FieldSet) Has(field *Field) bool { return s&field.Bit != 0 }

// Values are values of some of a user's fields, those that a change sets.
type Values struct {
	Given   FieldSet // the fields that have a value
	Profile          // holds the values; its other fields mean nothing
}

// Set gives a field a text. Where the field has a type, [Fields.Settle] reads it.
func (v *Values) Set(field *Field, text string) {
	v.Given |= field.Bit
	field.Set(&v.Profile, text)
}

// SetNull gives a field no value.
func (v *Values) SetNull(field *Field) {
	v.Given |= field.Bit
	field.SetNull(&v.Profile)
}

// SetJSON gives a field that has a type a value of JSON that is no text. Where it is none of the type, it becomes a text that
// fits no type.
func (v *Values) SetJSON(field *Field, value string) {
	switch field.Type {
	case &boolean:
		value = readBoolean(value)
	case &number: // in double precision, as everywhere; unlike a text it may have an exponent
		read, err := strconv.ParseFloat(value, 64)
		if value = ""; err == nil {
			value = readNumber(strconv.FormatFloat(read, 'f', -1, 64))
		}
	default:
		value = ""
	}
	v.Set(field, cmp.Or(value, "\x00"))
}

// Differing returns the fields of values in which a user differs.
func (f Fields) Differing(values *Values, user *Profile) (differing FieldSet) {
	for field := range f.In(values.Given) {
		a, b := field.Value(&values.Profile), field.Value(user)
		if (a == nil) != (b == nil) || a != nil && *a != *b {
			differing |= field.Bit
		}
	}
	return differing
}

// IsEmpty reports whether a value is NULL or an empty text.
func IsEmpty(value *string) bool { return value == nil || *value == "" }

// MaxAdded is how many fields a setting may add.
const MaxAdded = 32
