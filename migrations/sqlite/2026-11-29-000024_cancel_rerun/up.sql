-- Orders to cancel accepted work: on the row of the work, and on that of the attempt which a node runs. The node ends the
-- run; a program of the release before does not know the order, and lets it go on. The calls that had left are named in
-- the row of the run.
ALTER TABLE traces ADD COLUMN cancel_requested_at TEXT;
ALTER TABLE traces ADD COLUMN cancelled_by TEXT;
ALTER TABLE traces ADD COLUMN cancel_reports BOOLEAN;
ALTER TABLE traces ADD COLUMN in_flight_json TEXT;
CREATE INDEX traces_cancels ON traces (status, id)
    WHERE cancel_requested_at IS NOT NULL
    AND status IN ('pending', 'scheduled', 'waiting', 'running', 'retrying');

-- The trace that accepted work runs again.
ALTER TABLE traces ADD COLUMN rerun_of VARCHAR(36);
CREATE INDEX traces_reruns ON traces (rerun_of, created_at, id) WHERE rerun_of IS NOT NULL;

-- Orders to cancel occurrences, which the holder of the claim carries out, and the version of the workflow that the
-- attempts after a retry run.
ALTER TABLE cron_occurrences ADD COLUMN cancel_requested_at TEXT;
ALTER TABLE cron_occurrences ADD COLUMN cancelled_by TEXT;
ALTER TABLE cron_occurrences ADD COLUMN cancel_reports BOOLEAN;
ALTER TABLE cron_occurrences ADD COLUMN workflow_version INTEGER;
CREATE INDEX cron_occurrences_cancels ON cron_occurrences (status, id)
    WHERE cancel_requested_at IS NOT NULL AND status IN ('pending', 'claimed', 'running');
