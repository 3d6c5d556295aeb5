package database

import (
	"cmp"
	"errors"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"users-api/models"
)

// postgresDialect is the SQL of PostgreSQL, and its errors.
type postgresDialect struct{ folded string } // see [postgresPool.foldExpression]

func (postgresDialect) endsTransaction(_ *gorm.DB, err error) bool {
	trouble := troubleOf(err)
	_, isRecord := errors.AsType[recordError](err)
	return isRecord || sqlState(err) != "" && trouble != refused && trouble != locked || trouble.isConnections()
}

func (postgresDialect) holds(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

func (postgresDialect) maxParameters() int { return 800 }

func (postgresDialect) shownTime(column string) string {
	return "coalesce(to_char(" + column + "::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), '')"
}

func (postgresDialect) foldedEmail() string          { return `lower(email COLLATE "C")` }
func (postgresDialect) lower(text string) string     { return "lower(" + text + ` COLLATE "C")` }
func (d postgresDialect) fold(text string) string    { return strings.ReplaceAll(d.folded, "%[1]s", text) }
func (postgresDialect) bytes(text string) string     { return "convert_to(" + text + ", 'UTF8')" }
func (postgresDialect) position(bytes string) string { return "pg_catalog.position(" + bytes + ", ?)" }

// A number from a sequence does not follow the order of commits. So the key of an entry in the feed begins with the number
// of its transaction, and entries are shown once no transaction with that number or a lower one is under way (below xmin
// of the snapshot): whatever commits later has a higher key. A transaction that stays open holds the feed back.

func (postgresDialect) feed() feed {
	return feed{
		xid: "xid::text::int8", isShown: "xid < pg_snapshot_xmin(pg_current_snapshot())",
		keys: []string{"users_changes.xid", "users_changes.seq"},
		from: "(users_changes.xid, users_changes.seq) >= ((@xid)::text::xid8, @seq)",
	}
}

func (postgresDialect) createChanges(tx *gorm.DB) error {
	err := tx.AutoMigrate(&models.Change{})
	if err == nil {
		err = tx.Exec("ALTER TABLE users_changes ADD xid xid8 NOT NULL DEFAULT pg_current_xact_id(); " +
			"CREATE INDEX users_changes_feed ON users_changes (xid, seq)").Error
	}
	return cmp.Or(err, shareChanges(tx))
}

// shareChanges lets whoever may write users record it, too: the owner may be another than the service.
func shareChanges(tx *gorm.DB) error {
	var grants []string
	err := tx.Raw(`SELECT 'GRANT SELECT, INSERT, UPDATE, DELETE ON users_changes TO ' ||
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
		FROM pg_class c, aclexplode(c.relacl) a
		WHERE c.oid = to_regclass('users') AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner`).Scan(&grants).Error
	for _, grant := range grants {
		err = cmp.Or(err, tx.Exec(grant).Error)
	}
	return err
}

// beginEpoch begins an epoch, too, where the entries were brought by a dump of another server: their numbers of
// transactions, which lie above or below those of this one at random, are made anew.
func (postgresDialect) beginEpoch(tx *gorm.DB, anew bool) error {
	server, mayAsk := "", false // without the right, a CASE around the call would not help
	err := tx.Raw("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')").Row().Scan(&mayAsk)
	if err == nil && mayAsk {
		err = tx.Raw("SELECT system_identifier::text FROM pg_control_system()").Row().Scan(&server)
	}
	var first []models.Change
	if err == nil {
		err = tx.Select("seq", "by").Where("seq = 0").Find(&first).Error
	}
	isForeign := len(first) > 0 && server != "" && valueOf(first[0].By) != "" && *first[0].By != server
	if err != nil || len(first) > 0 && !isForeign && !anew {
		return err
	}
	if isForeign {
		err = tx.Exec("UPDATE users_changes SET xid = DEFAULT").Error
	}
	if err == nil {
		err = beginEpoch(tx)
	}
	if err == nil { // it is before all others, and shown at once
		err = tx.Exec(`UPDATE users_changes SET xid = '0', "by" = ? WHERE seq = 0`, server).Error
	}
	if err == nil && anew {
		err = shareChanges(tx)
	}
	return err
}

// earlier: a function takes its triggers with it.
func (postgresDialect) earlier() string {
	return `SELECT 'FUNCTION ' || p.oid::regprocedure || ' CASCADE'
			FROM pg_proc p JOIN pg_class c ON c.relnamespace = p.pronamespace
			WHERE c.oid = to_regclass('users') AND p.pronargs = 0 AND p.prorettype = 'trigger'::regtype
			AND p.proname IN ('users_changes_record', 'users_changes_keep', 'users_updated_at_set')
		UNION ALL SELECT 'TABLE ' || c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'xid'
			WHERE c.oid = to_regclass('users_changes') AND NOT EXISTS (
				SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'user_id')`
}
