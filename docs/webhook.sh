#!/bin/sh
# Posts {"changes":[…],"next":"…"} to HOOK. KEY is a key that may read, if the service requires one.
api=${API:-http://localhost:3000/api}
: "${HOOK:?}"
ask() {
  curl -sSfG -H @/dev/fd/3 "$@" 3<<END # not as an argument, which others see
${KEY:+Authorization: Bearer $KEY}
END
}
while sleep 1; do
  if [ ! -s cursor.txt ]; then
    cursor=$(ask -o /dev/null -w '%header{changes-cursor}' -d limit=1 $api/users) || continue
    [ -n "$cursor" ] || { echo 'changes are not recorded: CHANGES_KEEP is 0' >&2; continue; }
    echo "$cursor" >cursor.txt
  fi
  changes=$(ask -m 90 -d wait=50 -d "after=$(cat cursor.txt)" $api/changes) || continue
  [ "$(printf %s "$changes" | jq '.changes | length')" = 0 ] ||
    printf %s "$changes" | curl -sSf -o /dev/null -H 'Content-Type: application/json' --data-binary @- "$HOOK" || continue
  printf %s "$changes" | jq -r .next >cursor.new && mv cursor.new cursor.txt
done
