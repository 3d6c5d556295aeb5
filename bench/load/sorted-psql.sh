# Sorts by name, as a person at psql does; the median of 5.
query="SELECT id, name, email, created_at FROM users ORDER BY lower(name), id LIMIT 100;"
{
  echo '\timing on'
  for _ in 1 2 3 4 5; do echo "$query"; done
} | PGHOST=127.0.0.2 PGPORT=${URL##*:} PGUSER=postgres psql --quiet --no-psqlrc postgres | awk '/^Time/ { print $2 }' | sort -n |
  sed -n '3s/$/ ms/; 3s/^/figures /p'
