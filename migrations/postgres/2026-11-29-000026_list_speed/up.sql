-- The failed runs of a workflow, in the order of lists. Runs that succeed are in none of these indexes.
CREATE INDEX traces_failed_workflows ON traces (workflow_id, created_at, id, workflow_version, attempt_of)
    WHERE status = 'failed';
-- Later attempts, which the counts of their statuses leave out.
CREATE INDEX traces_attempt_statuses ON traces (status, channel) WHERE attempt_of IS NOT NULL;
-- Dead letters without a retry left.
CREATE INDEX trace_dlq_exhausted ON trace_dlq (created_at, id) WHERE retry_count >= max_retries;
-- Entries of the audit log about one resource, or one type of them, in the order of lists.
CREATE INDEX audit_logs_resource_id ON audit_logs (resource_id, created_at, id);
CREATE INDEX audit_logs_resource_type ON audit_logs (resource_type, created_at, id);
