# What the figures depend on, as lines "key: value" before Go benchmark lines.
echo "goos: $(go env GOOS)"
echo "goarch: $(go env GOARCH)"
echo "cpu: $(nproc) x$(grep -m 1 'model name' /proc/cpuinfo | cut -d : -f 2)"
echo "kernel: $(uname -sr)"
echo "go: $(go env GOVERSION)"
echo "node: $(node --version)"
echo "sqlite3: $(sqlite3 --version | cut -d ' ' -f 1)"
echo "postgresql: $(pgbench --version | cut -d " " -f 3)"
echo "haproxy: $(haproxy -v | head -n 1 | cut -d ' ' -f 3)"
echo "wrk: $(wrk --version | head -n 1 | cut -d ' ' -f 2)"
echo "flushes: $(dd if=/dev/zero of=build/flush bs=4k count=200 oflag=dsync 2>&1 | tail -n 1)"
rm build/flush
