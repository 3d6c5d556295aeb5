# Prints the SQL that gives each user a value for each field of USER_FIELDS.
for field in $(echo "$USER_FIELDS" | tr , ' '); do
  echo "UPDATE users SET $field = 'Value ' || id;"
done
