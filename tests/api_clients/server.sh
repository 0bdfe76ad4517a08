# What the scripts of this directory share: a scratch server. Sets $here, $peers, $work (removed at the end), $url and $key.
#
# `serve BINARY PYTHON` starts it; it ends with the script.
here=$(cd "$(dirname "$0")" && pwd)
peers=$here/../peers
key=0123456789abcdef0123456789abcdef
work=$(mktemp -d)
process=
end() {
  if [ -n "$process" ]; then kill "$process" && wait "$process" || true; fi
  rm -rf "$work"
}
trap end EXIT

serve() {
  local port
  port=$("$2" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  (cd "$work" && SVC_SERVER__PORT=$port SVC_STORAGE__URL=sqlite:svc.db SVC_ADMIN_AUTH__ENABLED=true \
    SVC_ADMIN_AUTH__API_KEYS=$key SVC_METRICS__ENABLED=true SVC_ENGINE__CIRCUIT_BREAKER__ENABLED=true \
    SVC_STORAGE__BACKUP_RETENTION_COUNT=3 SVC_SERVER__SHUTDOWN_DRAIN_SECS=0 exec "$1") >"$work/server.log" 2>&1 &
  process=$!
  url=http://127.0.0.1:$port
  curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused "$url/readyz" >/dev/null ||
    { tail -n 20 "$work/server.log" >&2 && exit 1; }
}
