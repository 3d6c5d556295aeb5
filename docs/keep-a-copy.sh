#!/bin/sh
# Keeps copy.json the same as the service: {"next":"CURSOR","users":{"ID":{"id":"ID",…},…}}
# KEY is a key that may read, if the service requires one.
api=${API:-http://localhost:3000/api} new=copy.json.new.$$
ask() {
  curl -sS -H @/dev/fd/3 "$@" 3<<END # not as an argument, which others see
${KEY:+Authorization: Bearer $KEY}
END
}
ids_as_text() { sed 's/"id":\([-0-9]*\)/"id":"\1"/g'; } # jq 1.6 rounds numbers above 2^53
export_all() {
  next=$(ask -f -o $new -w '%header{changes-cursor}' $api/users.ndjson) || return
  [ -n "$next" ] || { echo 'changes are not recorded: CHANGES_KEEP is 0' >&2; return 1; }
  ids_as_text <$new | jq -cn --arg next "$next" '{$next, users: (reduce inputs as $u ({}; .[$u.id] = $u))}' >$new.json &&
    mv $new.json copy.json
}
rm -f copy.json.new.*
while sleep 1; do
  [ -e copy.json ] || export_all || continue
  answer=$(ask -G -m 90 -w '%{http_code}' -d wait=50 -d "after=$(jq -r .next copy.json)" $api/changes) || continue
  case $answer in
  *200) printf %s "${answer%???}" | ids_as_text | jq -c --slurpfile copy copy.json '{next, users: (reduce .changes[] as $c
      ($copy[0].users; if $c.op == "many" then error else if $c.user then .[$c.id] = $c.user else del(.[$c.id]) end end))}' >$new &&
      mv $new copy.json || export_all ;; # op is "many" after an import of more than 10,000 new users
  *410) export_all ;; # the service no longer has what came after this place, or the database is another one
  *) echo "the service answers $answer" >&2 ;; # such as 401: set KEY
  esac
done
