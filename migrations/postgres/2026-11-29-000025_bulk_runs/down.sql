DROP INDEX cron_occurrences_backfilled;
ALTER TABLE cron_occurrences DROP COLUMN bulk_run_id;
DROP TABLE bulk_runs;
