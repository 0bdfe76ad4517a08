DROP INDEX trace_dlq_due;
DROP INDEX cron_occurrences_awaited;
ALTER TABLE cron_occurrences DROP COLUMN awaited_channel;
DROP INDEX trace_dlq_awaited;
ALTER TABLE trace_dlq DROP COLUMN awaited_channel;
DROP INDEX traces_awaited;
ALTER TABLE traces DROP COLUMN awaited_channel;
