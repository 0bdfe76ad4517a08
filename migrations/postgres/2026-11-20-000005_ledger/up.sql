-- Leases that ended without a result since the last retry, claims ever made, and whether the next claim finds its attempt
-- counted.
ALTER TABLE cron_occurrences ADD COLUMN recoveries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN claims BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN attempt_counted BOOLEAN NOT NULL DEFAULT FALSE;

-- Lists are asked for by status, and by when occurrences were due.
CREATE INDEX cron_occurrences_scheduled ON cron_occurrences (scheduled_for);
CREATE INDEX cron_occurrences_status ON cron_occurrences (status, created_at, id);
