DROP INDEX audit_logs_resource_type;
DROP INDEX audit_logs_resource_id;
DROP INDEX trace_dlq_exhausted;
DROP INDEX traces_attempt_statuses;
DROP INDEX traces_failed_workflows;
