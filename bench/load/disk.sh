# Tells the size of the data directory, without PostgreSQL's log of what is not in its tables yet.
du --bytes --summarize --exclude pg_wal "$DATA_DIR" | awk '{ print "figures", $1 / 1e6, "MB" }'
