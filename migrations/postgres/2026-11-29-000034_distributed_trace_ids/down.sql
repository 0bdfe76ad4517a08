ALTER TABLE traces DROP COLUMN distributed_trace_id;
