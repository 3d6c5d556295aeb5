# Tells the memory of a server that has just started, and had the time to become idle.
sleep 0.5
awk '/VmRSS/ { print "figures", $2 / 1024, "MiB" }' "/proc/$PID/status"
