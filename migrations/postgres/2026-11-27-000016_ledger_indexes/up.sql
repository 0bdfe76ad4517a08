-- A claim finds the oldest rows that wait, whatever else the ledger keeps: the index holds these rows only, in the order of
-- claims. The same for rows whose lease may have expired. Rows that have ended cost neither index anything.
DROP INDEX cron_occurrences_due;
DROP INDEX cron_occurrences_claimed;
CREATE INDEX cron_occurrences_pending ON cron_occurrences (status, scheduled_for, id) WHERE status = 'pending';
CREATE INDEX cron_occurrences_leased ON cron_occurrences (claimed_until) WHERE status IN ('claimed', 'running');
