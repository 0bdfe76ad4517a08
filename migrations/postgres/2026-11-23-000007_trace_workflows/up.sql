-- The version of the workflow that a run was given to; absent for a run that has not begun.
ALTER TABLE traces ADD COLUMN workflow_id TEXT;
ALTER TABLE traces ADD COLUMN workflow_version BIGINT;
