# What a .deb does on a machine with systemd: it is installed, started, upgraded with its users, removed and purged.
url=http://localhost:3000
again() { for try in $(seq 300); do "$@" && return; sleep 0.1; done; exit 1; }
named() { find /etc /usr /var -path /var/lib/docker -prune -o -name '*users-api*' -print; }
named >/test/before
dpkg --install /test/first.deb
! systemctl is-enabled users-api || exit 1 # without a key it would be open
printf '%s\n' BACKUP_EVERY=1h ADMIN_PORT=9090 >>/etc/users-api/settings.env
systemctl enable --now users-api           # returns once the service is ready
curl -fsS $url/health
curl -fsS -d '{"name":"Ada","email":"ada@example.org"}' $url/api/users

# The unit forbids nothing that the service does.
curl -fsS -X POST --data-binary '{"name":"Bob","email":"bob@example.org"}' $url/api/users.ndjson
for path in / /api/users '/api/users?q=da' /api/users.csv; do curl -fsS "$url$path" >/dev/null; done
curl -fsS http://localhost:9090/metrics >/dev/null
again sh -c "journalctl --unit users-api | grep -F 'backup made'"
! journalctl --unit users-api | grep -F 'not permitted' || exit 1
first=$(systemctl show --property MainPID --value users-api)
[ "$(stat -c %U "/proc/$first")" = users-api ]
[ "$(stat -c '%U %a' /var/lib/users-api /var/lib/users-api/users.db | paste -sd ' ')" = 'users-api 700 users-api 600' ]
[ "$(stat -c '%U %a' /etc/users-api/settings.env)" = 'root 600' ]
grep ' 0100007F:0BB8 ' /proc/net/tcp # no other machine reaches it: it listens on 127.0.0.1:3000
journalctl --unit users-api | grep -F "version=$(users-api --version | cut -d ' ' -f 2) "
dpkg --listfiles users-api | grep -F /man1/users-api-backup.1.gz # dpkg may be told to install no man pages
users-api licenses | grep -F 'Copyright 2009 The Go Authors'
bash -c '. /usr/share/bash-completion/completions/users-api; complete -p users-api'

# An upgrade keeps users and settings, and the new version runs.
echo PORT=3001 >>/etc/users-api/settings.env
dpkg --install /test/second.deb
[ "$(systemctl show --property MainPID --value users-api)" != "$first" ]
again curl -fsS http://localhost:3001/api/users | grep ada@example.org

# A removal stops the service and keeps users and settings for the next installation.
dpkg --remove users-api
! curl -fsS http://localhost:3001/health || exit 1
dpkg --install /test/first.deb
systemctl start users-api
curl -fsS http://localhost:3001/api/users | grep ada@example.org

# A reload reads a file of keys again.
install --mode=640 --group=users-api /dev/null /etc/users-api/keys
users-api key first 2>/test/first >/etc/users-api/keys
echo API_KEY_FILE=/etc/users-api/keys >>/etc/users-api/settings.env
systemctl restart users-api
first=$(systemctl show --property MainPID --value users-api)
curl -fsS -H "X-API-Key: $(cat /test/first)" http://localhost:3001/api/users
users-api key second 2>/test/second >/etc/users-api/keys
systemctl reload users-api
again curl -fsS -H "X-API-Key: $(cat /test/second)" http://localhost:3001/api/users
! curl -fsS -H "X-API-Key: $(cat /test/first)" http://localhost:3001/api/users || exit 1
[ "$(systemctl show --property MainPID --value users-api)" = "$first" ]
rm /etc/users-api/keys # a purge deletes what the package has brought

dpkg --purge users-api
! systemctl is-active users-api || exit 1
named >/test/after
diff /test/before /test/after
