# What the scripts of servers share. A script defines `running`, `start` and `stop`, which work in $dir, and calls `serve`.
#
# Whoever uses a server holds a shared lock on DIR.users. When nobody has for some seconds, a watchdog stops the server and
# removes DIR: a test that dies takes its server along.
command=${1:?start or stop} dir=${2:?a directory}
here=$(cd "$(dirname "$0")" && pwd)

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The port of the last start, or one where nobody answers yet: below those that the kernel gives to connections, one of
# which could take the port of a server that is away for a moment.
port() {
  cat "$dir/port" 2>/dev/null && return
  local port
  while port=$((10000 + RANDOM % 22000)) && answers "$port"; do :; done
  echo "$port"
}

watch() {
  exec 8>"$dir.users" 9>"$dir.lock"
  while true; do
    flock -x 8 && flock -u 8
    sleep 5
    flock -x 9
    if flock -n -x 8; then
      stop
      rm -rf "$dir"
      exit 0
    fi
    flock -u 9
  done
}

serve() {
  case $command in
  start)
    exec 9>"$dir.lock"
    flock 9
    if ! running; then
      start 9>&-
      if ! { [ -s "$dir/watchdog" ] && kill -0 "$(cat "$dir/watchdog")" 2>/dev/null; }; then
        setsid "$0" watch "$dir" 9>&- >/dev/null 2>&1 </dev/null &
        echo $! >"$dir/watchdog"
      fi
    fi
    cat "$dir/url"
    ;;
  stop) stop ;;
  watch) watch ;;
  *)
    echo "usage: $(basename "$0") start|stop DIR" >&2
    exit 2
    ;;
  esac
}
