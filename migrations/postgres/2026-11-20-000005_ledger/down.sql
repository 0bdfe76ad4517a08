DROP INDEX cron_occurrences_status;
DROP INDEX cron_occurrences_scheduled;
ALTER TABLE cron_occurrences DROP COLUMN attempt_counted;
ALTER TABLE cron_occurrences DROP COLUMN claims;
ALTER TABLE cron_occurrences DROP COLUMN recoveries;
