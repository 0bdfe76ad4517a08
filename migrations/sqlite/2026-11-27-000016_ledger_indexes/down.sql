DROP INDEX cron_occurrences_leased;
DROP INDEX cron_occurrences_pending;
CREATE INDEX cron_occurrences_claimed ON cron_occurrences (claimed_until);
CREATE INDEX cron_occurrences_due ON cron_occurrences (status, scheduled_for);
