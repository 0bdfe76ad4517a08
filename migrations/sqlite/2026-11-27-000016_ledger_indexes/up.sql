-- A claim finds the oldest rows that wait, whatever else the ledger keeps: the index holds these rows only, in the order of
-- claims. SQLite prefers it to that of all rows by status for its status column. The rows that are claimed or running are
-- few, those of one process, and found by their status. Rows that have ended cost neither index anything.
DROP INDEX cron_occurrences_due;
DROP INDEX cron_occurrences_claimed;
CREATE INDEX cron_occurrences_pending ON cron_occurrences (status, scheduled_for, id) WHERE status = 'pending';
