CREATE TABLE orders (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner      text NOT NULL,
  item       text NOT NULL,
  qty        integer NOT NULL CHECK (qty > 0),
  state      text NOT NULL DEFAULT 'open',
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON orders (owner, id);
