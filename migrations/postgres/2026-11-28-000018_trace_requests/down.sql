ALTER TABLE traces DROP COLUMN error_code;
DROP INDEX traces_failed_requests;
ALTER TABLE traces DROP COLUMN request_id;
