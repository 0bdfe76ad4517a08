# `serve_orders BINARY PYTHON` serves a copy of examples/orders with a PostgreSQL and a Redis of its own, on the server of
# server.sh, and sets $token.
#
# The callers have a token that a key of the copied channels verifies, and no rate, so that requests reach the workflows
# and the database behind them.
serve_orders() {
  local example=$here/../../examples/orders
  "$peers/ensure" curl && "$peers/ensure" psql postgresql
  # The owner of the database is another user.
  chmod 711 "$work"
  trap '"$peers/postgres" stop "$work/pg"; "$peers/redis" stop "$work/redis"; end' EXIT
  exec 7>"$work/pg.users" 8>"$work/redis.users"
  flock -s 7 && flock -s 8
  # What watches them ends with this script, so that it must not inherit the locks.
  SHOP_DB=$("$peers/postgres" start "$work/pg" 7>&- 8>&-) SHOP_REDIS=$("$peers/redis" start "$work/redis" 7>&- 8>&-)
  export SHOP_DB SHOP_REDIS SVC_SERVER__DATA_DOCS__ENABLED=true
  psql --quiet "$SHOP_DB" -f "$example/schema.sql"
  token=$("$2" "$here/python/orders.py" "$example" "$work/orders")
  serve "$1" "$2"
  SVC=$url SVC_KEY=$key "$example/../load" "$work/orders"
}
