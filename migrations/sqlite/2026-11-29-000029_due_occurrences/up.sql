-- The occurrences that may be claimed once they are due, without those that wait for the resume of a channel that they
-- called: a pause of days leaves many of those, all older than what is due.
CREATE INDEX cron_occurrences_due ON cron_occurrences (status, scheduled_for, id)
    WHERE status = 'pending' AND awaited_channel IS NULL;
