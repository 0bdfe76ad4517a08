# What the scripts of this directory share: a scratch server. Sets $here, $peers, $work (removed at the end), $url and $key.
#
# `serve BINARY PYTHON` starts it; it ends with the script. `install_packages NAME FILE` puts the packages that a
# package.json names into the user's cache, and prints the folder of the modules. `issue_certificate NAME SUBJECT` makes
# $work/NAME.pem and $work/NAME.key for a subject such as IP:127.0.0.1, which $work/authority.pem vouches for.
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

install_packages() {
  local place
  place=${XDG_CACHE_HOME:-$HOME/.cache}/svc-peers/$1-$(cksum <"$2" | tr -d ' ')
  mkdir -p "$place"
  (
    flock 9
    if [ ! -d "$place/node_modules" ]; then
      cp "$2" "$place/"
      npm install --prefix "$place" --no-audit --no-fund --ignore-scripts >"$place.log" 2>&1 ||
        { rm -rf "$place/node_modules" && echo "npm cannot install the packages ($(tail -n 1 "$place.log"))" >&2 && exit 1; }
    fi
  ) 9>"$place.lock"
  echo "$place/node_modules"
}

issue_certificate() {
  [ -e "$work/authority.pem" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=authority" \
    -addext basicConstraints=critical,CA:TRUE -keyout "$work/authority.key" -out "$work/authority.pem" 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.csr" 2>/dev/null
  openssl x509 -req -in "$work/$1.csr" -CA "$work/authority.pem" -CAkey "$work/authority.key" -CAcreateserial -days 2 \
    -extfile <(echo "subjectAltName=$2") -out "$work/$1.pem" 2>/dev/null
}
