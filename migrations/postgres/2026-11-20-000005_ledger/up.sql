-- Leases that ended without a result since the last retry, claims ever made, and whether the next claim finds its attempt
-- counted.
ALTER TABLE cron_occurrences ADD COLUMN recoveries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN attempt_counted BOOLEAN NOT NULL DEFAULT FALSE;
