//go:build postgres

package compatibility

import "fmt"

// trigger is a trigger on users and its function, which returns the row, or NULL to ignore it.
func trigger(when, body string) string {
	return fmt.Sprintf(`CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN %s; RETURN coalesce(NEW, OLD); END $$; CREATE TRIGGER r %s ON users FOR EACH ROW EXECUTE FUNCTION r()`, body, when)
}

// atCommit is a trigger that runs when its transaction commits.
func atCommit(what, body string) string {
	return fmt.Sprintf(`CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER r AFTER %s ON users DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION r()`, body, what)
}

const (
	raisesBad = "IF NEW.name = 'bad' THEN INSERT INTO trace VALUES ('left'); RAISE 'not him'; END IF"
	raisesOld = "IF OLD.id = 1 THEN RAISE 'not him'; END IF"
	ofAudit   = `duplicate key value violates unique constraint "audit_what_key"`
)

// audited is another table, which has a value already.
var audited = []string{"CREATE TABLE audit (what text UNIQUE)", "INSERT INTO audit VALUES ('bad')"}

// Rules that another program's table may have, and what a creation of the name "bad" among others is told.
var tableRules = []tableRule{
	{"a trigger that raises", "not him", []string{trigger("BEFORE INSERT", raisesBad)}},
	{"a trigger that raises after it stored something", "not him", []string{trigger("AFTER INSERT", raisesBad)}},
	{"a trigger that raises when its transaction commits", "not him", []string{atCommit("INSERT", raisesBad)}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{
		trigger("BEFORE INSERT", "IF NEW.name = 'bad' THEN RETURN NULL; END IF")}},
	{"a trigger that writes to a table which refuses it", ofAudit, append(audited,
		trigger("AFTER INSERT", "INSERT INTO audit VALUES (CASE NEW.name WHEN 'bad' THEN 'bad' ELSE NEW.email END)"))},
	{"a check", "violates check constraint", []string{"ALTER TABLE users ADD CHECK (name <> 'bad')"}},
	{"a uniqueness of names", `duplicate key value violates unique constraint "users_name_key"`, []string{
		"ALTER TABLE users ADD UNIQUE (name)", "INSERT INTO users (name, email) VALUES ('bad', '')"}},
	{"a foreign key", "violates foreign key constraint", []string{"CREATE TABLE names (name text PRIMARY KEY)",
		"INSERT INTO names SELECT 'n' || i FROM generate_series(0, 20) i",
		"ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES names"}},
	{"a foreign key that is looked at when its transaction commits", "violates foreign key constraint", []string{
		"CREATE TABLE names (name text PRIMARY KEY)", "INSERT INTO names SELECT 'n' || i FROM generate_series(0, 20) i",
		"ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES names DEFERRABLE INITIALLY DEFERRED"}},
}

// Rules that refuse to change the name to "bad", and what the client is told.
var changeRules = []tableRule{
	{"a trigger that raises", "not him", []string{trigger("BEFORE UPDATE", raisesBad)}},
	{"a trigger that raises afterwards", "not him", []string{trigger("AFTER UPDATE", raisesBad)}},
	{"a trigger that raises when its transaction commits", "not him", []string{atCommit("UPDATE", raisesBad)}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{
		trigger("BEFORE UPDATE", "IF NEW.name = 'bad' THEN RETURN NULL; END IF")}},
	{"a trigger that writes to a table which refuses it", ofAudit, append(audited,
		trigger("AFTER UPDATE", "IF NEW.name = 'bad' THEN INSERT INTO audit VALUES ('bad'); END IF"))},
	{"a check", "violates check constraint", []string{"ALTER TABLE users ADD CHECK (name <> 'bad')"}},
}

// Rules that refuse to delete the user 1, and what the client is told.
var deleteRules = []tableRule{
	{"a trigger that raises afterwards", "not him", []string{trigger("AFTER DELETE", raisesOld)}},
	{"a trigger that raises when its transaction commits", "not him", []string{atCommit("DELETE", raisesOld)}},
	{"a trigger that ignores", "not stored: a trigger of the table users ignored it", []string{
		trigger("BEFORE DELETE", "IF OLD.id = 1 THEN RETURN NULL; END IF")}},
	{"a trigger that writes to a table which refuses it", ofAudit, append(audited,
		trigger("AFTER DELETE", "IF OLD.id = 1 THEN INSERT INTO audit VALUES ('bad'); END IF"))},
	{"another table's foreign key", "violates foreign key constraint", []string{
		"CREATE TABLE orders (buyer bigint REFERENCES users)", "INSERT INTO orders VALUES (1)"}},
}

// upperEmails is a trigger that makes something else of a change than what was sent.
var upperEmails = trigger("BEFORE UPDATE OF name", "NEW.email = upper(NEW.email)")

// tracedDeletions make a deletion fail after it has left a trace in another table.
var tracedDeletions = append(audited, "CREATE TABLE trace (what text)",
	trigger("BEFORE DELETE", "INSERT INTO trace VALUES ('left'); INSERT INTO audit VALUES ('bad')"))

// ignoresWrites ignores changes of the first user, and that it is deleted.
var ignoresWrites = []string{trigger("BEFORE UPDATE OR DELETE", "IF OLD.id = 1 THEN RETURN NULL; END IF")}

// deletesWhatIsChanged deletes each user who is changed.
var deletesWhatIsChanged = trigger("AFTER UPDATE", "DELETE FROM users WHERE id = NEW.id")
