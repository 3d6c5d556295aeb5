# Inserts one user after another on 64 connections, and prints how many a second.
script=$DATA_DIR/pgbench.sql
cat >"$script" <<'END'
\set number random(1, 9000000000000000000)
INSERT INTO users (name, email) VALUES ('User ' || :number, :number || '@example.com') RETURNING id;
END
PGHOST=127.0.0.2 PGPORT=${URL##*:} PGUSER=postgres \
  pgbench --no-vacuum --protocol prepared --client 64 --jobs 2 --time "$LOAD_SECONDS" --file "$script" postgres |
  awk '/^tps/ { print $3 }'
