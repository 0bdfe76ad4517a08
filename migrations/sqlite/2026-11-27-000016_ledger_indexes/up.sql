-- A claim finds the oldest rows that wait, and those whose lease may have expired, whatever else the ledger keeps: each of
-- these indexes holds such rows only. SQLite prefers them to an index of all rows for their status column, with statistics
-- and without. Rows that have ended cost neither anything.
DROP INDEX cron_occurrences_due;
DROP INDEX cron_occurrences_claimed;
CREATE INDEX cron_occurrences_pending ON cron_occurrences (status, scheduled_for, id) WHERE status = 'pending';
CREATE INDEX cron_occurrences_leased ON cron_occurrences (status, scheduled_for, id)
WHERE status IN ('claimed', 'running');
