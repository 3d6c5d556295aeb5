# Imports a file of 1,000,000 users, or of 20,000 in a quick run, with a value for each field that a setting adds.
users=${QUICK:+20000}
users=${users:-1000000}
file=$DATA_DIR/import.csv
for field in $(echo "$USER_FIELDS" | tr , ' '); do
  more="$more, 'Value ' || i AS $field"
done
sqlite3 -csv -header :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $users)
  SELECT 'User ' || i AS name,
    printf('%08x.import@example.com', (i * 2654435761) & 4294967295) AS email$more FROM n" >"$file"
seconds=$(curl --silent --fail --output /dev/null --write-out '%{time_total}' --request POST --upload-file "$file" "$URL/api/users.csv")
echo "figures $seconds s" $(awk '/VmHWM/ { print $2 / 1024 }' "/proc/$PID/status") peak-MiB
