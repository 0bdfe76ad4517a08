-- Groups of failures by their cause: one small row for each, written when a process first sees it. The rows of the
-- failures name their group. Only failed rows are in the indexes: a run that succeeds pays for none of them.
CREATE TABLE error_groups (
    id          TEXT PRIMARY KEY NOT NULL,
    channel     TEXT NOT NULL,
    workflow_id TEXT,
    task_id     TEXT,
    code        TEXT,
    status      BIGINT,
    message     TEXT NOT NULL,
    first_seen  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    seen_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX error_groups_channel ON error_groups (channel);
CREATE INDEX error_groups_seen ON error_groups (seen_at);

ALTER TABLE traces ADD COLUMN error_group TEXT;
CREATE INDEX traces_error_groups ON traces (error_group, created_at, id, status, mode, attempt_of, workflow_version)
WHERE error_group IS NOT NULL;
CREATE INDEX traces_failed ON traces (status, created_at, id) WHERE status = 'failed';
-- With the order of the list, so that SQLite does not prefer the index above.
DROP INDEX traces_failed_requests;
CREATE INDEX traces_failed_requests ON traces (status, request_id, created_at, id) WHERE status = 'failed';

-- Accepted work that waits, which may be a million rows, and what was cancelled of it.
CREATE INDEX traces_resting ON traces (status, created_at, id)
WHERE status = 'scheduled' OR status = 'waiting' OR status = 'retrying' OR status = 'cancelled';

-- The key of a run (`metadata.run.key`) that is not the id of its row.
ALTER TABLE traces ADD COLUMN run_key TEXT;
CREATE INDEX traces_run_keys ON traces (run_key) WHERE run_key IS NOT NULL;

ALTER TABLE trace_dlq ADD COLUMN error_group TEXT;
CREATE INDEX trace_dlq_error_groups ON trace_dlq (error_group, created_at, id) WHERE error_group IS NOT NULL;
-- The letter of accepted work.
CREATE INDEX trace_dlq_trace ON trace_dlq (trace_id);
CREATE INDEX trace_dlq_attempt_of ON trace_dlq (attempt_of) WHERE attempt_of IS NOT NULL;

ALTER TABLE cron_occurrences ADD COLUMN error_group TEXT;
CREATE INDEX cron_occurrences_error_groups ON cron_occurrences (error_group, created_at, id, status, scheduled_for)
WHERE error_group IS NOT NULL;
