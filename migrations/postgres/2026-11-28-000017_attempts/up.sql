-- Attempts at accepted work. The row that the 202 named is the work and the trace of its first attempt: it has the number
-- and the state of the newest attempt, the instant of the next one, and the end of the first. A later attempt has a row of
-- its own, which names the work. A node of the release before starts retries that name none: such work stays `retrying`
-- until retention removes it.
ALTER TABLE traces ADD COLUMN attempt BIGINT NOT NULL DEFAULT 1;
ALTER TABLE traces ADD COLUMN attempt_of VARCHAR(36);
ALTER TABLE traces ADD COLUMN next_retry_at TIMESTAMP;
ALTER TABLE traces ADD COLUMN first_attempt_json TEXT;
CREATE INDEX traces_attempts ON traces (attempt_of, attempt) WHERE attempt_of IS NOT NULL;

-- The work that a dead letter of a later attempt belongs to.
ALTER TABLE trace_dlq ADD COLUMN attempt_of VARCHAR(36);
