-- The paused channel for whose resume work waits: a retry waits for its own, a run for one that it called. The resume frees
-- them in its own transaction. Programs of the release before know no pauses, and try them.
ALTER TABLE traces ADD COLUMN awaited_channel TEXT;
CREATE INDEX traces_awaited ON traces (awaited_channel, channel_id) WHERE awaited_channel IS NOT NULL;
ALTER TABLE trace_dlq ADD COLUMN awaited_channel TEXT;
CREATE INDEX trace_dlq_awaited ON trace_dlq (awaited_channel) WHERE awaited_channel IS NOT NULL;
ALTER TABLE cron_occurrences ADD COLUMN awaited_channel TEXT;
CREATE INDEX cron_occurrences_awaited ON cron_occurrences (awaited_channel) WHERE awaited_channel IS NOT NULL;

-- The letters that may be retried, without those that wait for a resume or have no retry left.
CREATE INDEX trace_dlq_due ON trace_dlq (next_retry_at, id)
    WHERE awaited_channel IS NULL AND retry_count < max_retries;
