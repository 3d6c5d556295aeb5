# Tells how long the server took from its start to its first answer, on a database that was there, as after any start but
# the first.
echo "figures $START_MS ms"
