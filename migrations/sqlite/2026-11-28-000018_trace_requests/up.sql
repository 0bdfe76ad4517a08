-- The correlation id of the request that a run came with. Only failed runs are found by an index: every other run would
-- pay for it.
ALTER TABLE traces ADD COLUMN request_id TEXT;
CREATE INDEX traces_failed_requests ON traces (request_id) WHERE status = 'failed';
