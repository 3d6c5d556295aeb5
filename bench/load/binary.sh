# Tells the size of the file to ship.
stat --format %s "$BINARY" | awk '{ print "figures", $1 / 1e6, "MB" }'
