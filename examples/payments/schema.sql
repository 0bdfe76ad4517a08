CREATE TABLE payments (
  event_id   text PRIMARY KEY,
  intent     text NOT NULL,
  amount     bigint NOT NULL CHECK (amount > 0),
  currency   text NOT NULL,
  email      text,
  claimed_by text NOT NULL,
  mailed_at  timestamptz
);
