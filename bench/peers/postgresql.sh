# Runs a command with a PostgreSQL server of its own, whose data is in $DATA_DIR/postgresql. It listens on 127.0.0.2, at
# the port that the command may have on 127.0.0.1, and ends with the command. As root it runs as the user postgres.
set -e
programs=${POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)}
data=$DATA_DIR/postgresql
as=
if [ "$(id -u)" = 0 ]; then
  as="--reuid=postgres --regid=postgres --clear-groups"
  chmod 755 "$DATA_DIR" "$DATA_DIR/.." # it has to reach its data
fi
if [ ! -e "$data" ]; then
  mkdir "$data"
  [ -z "$as" ] || chown postgres:postgres "$data"
  setpriv $as "$programs/initdb" --pgdata="$data" --username=postgres --no-sync --auth=trust --encoding=UTF8 --locale=C.UTF-8
fi
export PGHOST=127.0.0.2 PGPORT="$PORT" PGUSER=postgres
export DATABASE_URL="postgres://postgres@$PGHOST:$PORT/postgres?sslmode=disable"
# The kernel tells it to shut down when this process ends, which is the command from the last line on.
setpriv $as --pdeathsig INT "$programs/postgres" -D "$data" -c listen_addresses="$PGHOST" -c port="$PORT" \
  -c unix_socket_directories= -c max_connections=400 &
until "$programs/pg_isready" --quiet; do
  kill -0 $! # otherwise it has ended instead
  sleep 0.02
done
date +%s%N >"$DATA_DIR/started" # only what comes now is the start of the command
exec "$@"
