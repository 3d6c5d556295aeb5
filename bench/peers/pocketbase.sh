# Starts PocketBase, whose settings are arguments.
exec "$1" serve --http="127.0.0.1:$PORT" --dir="$DATA_DIR" --dev=false --automigrate=false \
  --migrationsDir="$BENCH/peers/pocketbase/migrations"
