#!/usr/bin/env bash
# Makes what the program of a commit leaves behind, with all that it has of the feed, the search index, emails without
# regard to case and, if it has that, updated_at:
#
#   bash tests/compatibility/testdata/make.sh abb483f
#   DATABASE_URL=postgres://… bash tests/compatibility/testdata/make.sh abb483f
#
# The first makes COMMIT-stopped and COMMIT-killed, each with a file of SQLite; the second, with the URL of an empty database,
# COMMIT-postgresql with a dump. users.json is the list as that program sent it, cursor is where its feed ended, and fields is
# its USER_FIELDS.
set -euo pipefail

commit=$1 service=
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap '[[ -z $service ]] || kill -9 $service; rm -rf "$work"' EXIT
mkdir "$work/source" && git -C "$here/../../.." archive "$commit" | tar -x -C "$work/source"
(cd "$work/source" && CGO_ENABLED=0 go build -buildvcs=false -tags nomsgpack -o "$work/users-api" .)

export PORT=3997 LISTEN_ADDRESS=127.0.0.1 DATA_DIR=$work/data USER_FIELDS=phone
users_api=$work/users-api address=http://127.0.0.1:$PORT
if "$users_api" add-field --help | grep -q updated_at; then USER_FIELDS+=,updated_at; fi

request() { # METHOD PATH [BODY]
  curl --silent --fail --retry 100 --retry-delay 1 --retry-connrefused --request "$1" --data "${3-}" "$address$2"
}

cursor() { curl --silent --head "$address/api/users?limit=1" | sed -n 's/^Changes-Cursor: \(.*\)\r$/\1/p'; }

leave() { # NAME SIGNAL
  rm -rf "$work/data" "${here:?}/$commit-$1" && mkdir "$here/$commit-$1"
  "$users_api" 2>"$work/log" &
  service=$!
  request POST /api/users '{"name":"Ada Lovelace","email":"ada@example.org"}'
  request POST /api/users '{"name":"Grace Hopper","email":"Grace@Example.org"}'
  request POST /api/users '{"name":"Ångström","email":"å@example.org"}'
  request POST /api/users '{"name":"Deleted","email":"deleted@example.org"}'
  "$users_api" changes on && "$users_api" index-search && "$users_api" ignore-email-case
  until [[ -n $(cursor) ]]; do sleep 0.1; done # once a second, the service looks whether changes are recorded
  request PATCH /api/users/1 '{"name":"Ada, Countess of Lovelace"}'
  request DELETE /api/users/4
  request POST /api/users '{"name":"Last","email":"last@example.org","phone":"117"}'
  request GET /api/users >"$here/$commit-$1/users.json"
  cursor >"$here/$commit-$1/cursor"
  echo "$USER_FIELDS" >"$here/$commit-$1/fields"
  kill "$2" $service && { wait $service || true; }
  service=
}

if [[ -n ${DATABASE_URL-} ]]; then
  leave postgresql -TERM
  # Entries name transactions of the server on which they were written: a dump of another server has none.
  pg_dump --inserts --no-owner --exclude-table-data=users_changes --dbname="$DATABASE_URL" |
    grep -v '^--\|^\\\|^$' >"$here/$commit-postgresql/users.sql"
  exit
fi
for how in stopped:-TERM killed:-KILL; do
  leave "${how%:*}" "${how#*:}"
  (cd "$work/data" && rm -f users.db-shm && tar -czf "$here/$commit-${how%:*}/database.tar.gz" users.db*)
done
