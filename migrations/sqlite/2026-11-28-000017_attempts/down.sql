ALTER TABLE trace_dlq DROP COLUMN attempt_of;
DROP INDEX traces_attempts;
ALTER TABLE traces DROP COLUMN first_attempt_json;
ALTER TABLE traces DROP COLUMN next_retry_at;
ALTER TABLE traces DROP COLUMN attempt_of;
ALTER TABLE traces DROP COLUMN attempt;
