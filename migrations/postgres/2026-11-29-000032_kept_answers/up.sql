-- The answers that repeats of a request get, by idempotency key: while the first run goes on, its claim, with a lease of a
-- minute at most; then its answer, until the window ends. Programs of the release before have no such answers.
CREATE TABLE kept_answers (
    name       TEXT PRIMARY KEY NOT NULL,
    entry      TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
CREATE INDEX kept_answers_expiry ON kept_answers (expires_at);
