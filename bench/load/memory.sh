# Tells the most memory that the server had, after $CLIENTS clients have read one whole list each.
for _ in $(seq "$CLIENTS"); do
  curl --silent --fail --output /dev/null "$URL$LIST_PATH" &
done
wait
awk '/VmHWM/ { print "figures", $2 / 1024, "peak-MiB" }' "/proc/$PID/status"
