# Sorts by name, as a person at SQLite's shell does; the median of 5.
query="SELECT id, name, email, created_at FROM users ORDER BY name COLLATE NOCASE, id LIMIT 100;"
{
  echo .timer on
  for _ in 1 2 3 4 5; do echo "$query"; done
} | sqlite3 "$DATA_DIR/users.db" | awk '/^Run Time/ { print 1000 * $4 }' | sort -n | sed -n '3s/$/ ms/; 3s/^/figures /p'
