# The same for an .rpm, as far as rpm on Debian goes: it does not know which packages dpkg has installed.
url=http://localhost:3000
rpm --install --nodeps /test/first.rpm
systemctl enable --now users-api
curl -fsS -d '{"name":"Ada","email":"ada@example.org"}' $url/api/users
rpm --verify --nodeps users-api
first=$(systemctl show --property MainPID --value users-api)
rpm --upgrade --nodeps --replacepkgs /test/first.rpm
[ "$(systemctl show --property MainPID --value users-api)" != "$first" ]
curl -fsS $url/api/users | grep ada@example.org
rpm --erase users-api
! curl -fsS $url/health || exit 1
[ -e /var/lib/users-api/users.db ] && [ ! -e /usr/bin/users-api ]
