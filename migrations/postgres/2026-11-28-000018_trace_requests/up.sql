-- The correlation id of the request that a run came with. Only failed runs are found by an index: every other run would
-- pay for it.
ALTER TABLE traces ADD COLUMN request_id TEXT;
CREATE INDEX traces_failed_requests ON traces (request_id) WHERE status = 'failed';
-- The code of the error that ended a run, or of the first one that it went on after.
ALTER TABLE traces ADD COLUMN error_code TEXT;
