//go:build postgres

package compatibility

import "fmt"

// trigger is a trigger on users and its function, which returns the row, or NULL to ignore it.
func trigger(when, body string) string {
	return fmt.Sprintf(`CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN %s; RETURN coalesce(NEW, OLD); END $$;
		CREATE TRIGGER r %s ON users FOR EACH ROW EXECUTE FUNCTION r()`, body, when)
}

// rulesFor returns the rules for what a write does to the table: INSERT, UPDATE or DELETE.
func rulesFor(event string) []rule {
	const (
		ifBad   = "IF coalesce(NEW.name, OLD.name) = 'bad' THEN INSERT INTO trace VALUES ('left'); %s; END IF"
		ofNames = `CREATE TABLE names (name text PRIMARY KEY);
			INSERT INTO names SELECT 'n' || i FROM generate_series(0, 20) i;
			ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES names NOT VALID`
		isTaken = `duplicate key value violates unique constraint "%s"`
	)
	raises := fmt.Sprintf(ifBad, "RAISE 'not him'")
	rules := []rule{
		{"a trigger that raises", "not him", []string{trigger("BEFORE "+event, raises)}},
		{"a trigger that raises afterwards", "not him", []string{trigger("AFTER "+event, raises)}},
		{"a trigger that raises when its transaction commits", "not him", []string{fmt.Sprintf(`
			CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER r AFTER %s ON users DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION r()`, raises, event)}},
		{"a trigger that ignores", ignored, []string{
			trigger("BEFORE "+event, "IF coalesce(NEW.name, OLD.name) = 'bad' THEN RETURN NULL; END IF")}},
		{"a trigger that writes to a table which refuses it", fmt.Sprintf(isTaken, "audit_what_key"),
			[]string{"CREATE TABLE audit (what text UNIQUE)", "INSERT INTO audit VALUES ('bad')",
				trigger("AFTER "+event, fmt.Sprintf(ifBad, "INSERT INTO audit VALUES ('bad')"))}},
	}
	switch event {
	case "INSERT":
		rules = append(rules,
			rule{uniqueNames, fmt.Sprintf(isTaken, "users_name_key"), []string{
				"ALTER TABLE users ADD UNIQUE (name)", "INSERT INTO users (name, email) VALUES ('bad', '')"}},
			rule{"a foreign key", "violates foreign key constraint", []string{ofNames}},
			rule{"a foreign key that is looked at at the commit", "violates foreign key constraint", []string{
				ofNames + " DEFERRABLE INITIALLY DEFERRED"}})
	case "UPDATE":
		rules = append(rules, rule{"a check", "violates check constraint", []string{
			"ALTER TABLE users ADD CHECK (name <> 'bad')"}})
	case "DELETE":
		rules = append(rules, rule{"another table's foreign key", "violates foreign key constraint", []string{
			"CREATE TABLE orders (buyer bigint REFERENCES users)", "INSERT INTO orders VALUES (8), (14)"}})
	}
	return rules
}

// ignoresWrites ignores changes of the first user, and that it is deleted.
var ignoresWrites = []string{trigger("BEFORE UPDATE OR DELETE", "IF OLD.id = 1 THEN RETURN NULL; END IF")}

var (
	// upperEmails makes something else of a change than what was sent.
	upperEmails = trigger("BEFORE UPDATE OF name", "NEW.email = upper(NEW.email)")
	// upperNew makes something else of a creation than what was sent.
	upperNew = trigger("BEFORE INSERT", "NEW.email = upper(NEW.email)")
	// deletesWhatIsChanged deletes each user who is changed.
	deletesWhatIsChanged = "DROP TRIGGER r ON users; DROP FUNCTION r; " +
		trigger("AFTER UPDATE", "DELETE FROM users WHERE id = NEW.id")
)
