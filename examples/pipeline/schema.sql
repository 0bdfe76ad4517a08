CREATE TABLE pipeline_orders (
  id          text PRIMARY KEY,
  total_cents bigint NOT NULL,
  priority    text,
  stored_at   timestamptz NOT NULL DEFAULT now()
);
