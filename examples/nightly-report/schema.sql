CREATE TABLE sales (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sold_at  timestamptz NOT NULL,
  category text NOT NULL,
  cents    integer NOT NULL
);
CREATE INDEX ON sales (sold_at);

CREATE TABLE reports (
  day         date PRIMARY KEY,
  total_cents bigint NOT NULL,
  sent_at     timestamptz NOT NULL DEFAULT now()
);
