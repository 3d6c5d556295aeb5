# Exports all users to a file.
curl --silent --fail --output /dev/null --write-out 'figures %{time_total} s' "$URL/api/users.csv"
