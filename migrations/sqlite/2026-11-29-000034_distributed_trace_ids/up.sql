-- The id of the distributed trace of a run, 32 hexadecimal digits; null for a run whose spans are not exported.
ALTER TABLE traces ADD COLUMN distributed_trace_id TEXT;
