# Runs a command several times, on 127.0.0.11 and the addresses after it, and HAProxy in front of them.
processes=$1
shift
config=$DATA_DIR/haproxy.cfg
cat >"$config" <<END
global
  maxconn 2000
defaults
  mode http
  option redispatch
  retry-on conn-failure
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend api
  bind 127.0.0.1:$PORT
  default_backend processes
backend processes
  balance roundrobin
END
for i in $(seq "$processes"); do
  address=127.0.0.1$i
  LISTEN_ADDRESS=$address setpriv --pdeathsig TERM "$@" &
  echo "  server process$i $address:$PORT" >>"$config"
  until curl --silent --output /dev/null "http://$address:$PORT/health"; do
    kill -0 $! || exit 1 # otherwise it has ended instead
    sleep 0.02
  done
done
exec haproxy -db -f "$config"
