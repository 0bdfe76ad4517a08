ALTER TABLE traces DROP COLUMN workflow_version;
ALTER TABLE traces DROP COLUMN workflow_id;
