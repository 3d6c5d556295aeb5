# Runs a command beside standbys of the PostgreSQL server that postgresql.sh has started: on 127.0.0.3 and the addresses after
# it, at the same port. The command may read from them.
set -e
standbys=$1
shift
programs=${POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)}
as=
[ "$(id -u)" != 0 ] || as="--reuid=postgres --regid=postgres --clear-groups"
hosts=
for i in $(seq "$standbys"); do
  data=$DATA_DIR/standby$i
  address=127.0.0.$((i + 2))
  rm -rf "$data"
  mkdir -m 700 "$data"
  [ -z "$as" ] || chown postgres:postgres "$data"
  setpriv $as "$programs/pg_basebackup" --pgdata="$data" --write-recovery-conf --checkpoint=fast --no-sync
  setpriv $as --pdeathsig INT "$programs/postgres" -D "$data" -c listen_addresses="$address" -c port="$PORT" \
    -c unix_socket_directories= -c max_connections=400 &
  until "$programs/pg_isready" --quiet --host="$address"; do
    kill -0 $! # otherwise it has ended instead
    sleep 0.02
  done
  hosts=$hosts,$address:$PORT
done
export DATABASE_READ_URL="postgres://postgres@${hosts#,}/postgres?sslmode=disable"
exec "$@"
