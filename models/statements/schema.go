package statements

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"users-api/models"
)

// CreateTable returns the statements with which GORM creates the table users from its model: a variant of [models.User]
// with the engine's own types, and the columns that settings add.
func CreateTable(dialect Dialect, table any, fields models.Fields) ([]string, error) {
	return script(dialect, func(migrator gorm.Migrator) error { return migrator.CreateTable(withAdded(table, fields)) })
}

// AddColumn returns the statements with which GORM adds the column of a field to the table users.
func AddColumn(dialect Dialect, field *models.Field) ([]string, error) {
	return script(dialect, func(migrator gorm.Migrator) error {
		return migrator.AddColumn(withAdded(struct{}{}, models.Fields{field}), field.Name)
	})
}

// withAdded returns a model of the columns of another model, and of those that settings add.
func withAdded(table any, fields models.Fields) any {
	columns := []reflect.StructField{{Name: "Table", Type: reflect.TypeOf(table), Tag: `gorm:"embedded"`}}
	for i, field := range fields {
		if field.Added {
			columns = append(columns, reflect.StructField{
				Name: fmt.Sprint("Added", i), Type: reflect.TypeFor[*string](),
				Tag: reflect.StructTag(`gorm:"column:` + field.Name + `"`),
			})
		}
	}
	return reflect.New(reflect.StructOf(columns)).Interface()
}

// script returns the statements that a migration runs.
func script(dialect Dialect, migrate func(gorm.Migrator) error) (script []string, err error) {
	db, err := open(dialect)
	if err == nil {
		record := func(run *gorm.DB) { script = append(script, text(run)) }
		err = db.Callback().Raw().After("gorm:raw").Register("record", record)
	}
	if err == nil {
		err = migrate(db.Table("users").Migrator())
	}
	return script, err
}
