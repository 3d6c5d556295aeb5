# Adds the users of postgresql.sql.
exec psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --set users="$USERS" --file seed/postgresql.sql
