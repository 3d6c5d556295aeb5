# Inserts one user after another on as many connections as there are clients elsewhere.
script=$DATA_DIR/pgbench.sql
cat >"$script" <<'END'
\set number random(1, 9000000000000000000)
INSERT INTO users (name, email) VALUES ('User ' || :number, :number || '@example.com') RETURNING id;
END
output=$(PGHOST=127.0.0.2 PGPORT=${URL##*:} PGUSER=postgres pgbench --no-vacuum --protocol prepared --client "$CLIENTS" \
  --jobs 2 --time "$LOAD_SECONDS" --file "$script" postgres 2>&1) || {
  echo "$output" >&2
  exit 1
}
echo "$output" | awk '/^tps/ { print "figures", $3, "answers/s" }'
