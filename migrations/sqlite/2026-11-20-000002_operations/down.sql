DROP TABLE job_leases;
DROP TABLE packages;
DROP TABLE config_epoch;
DROP TABLE audit_logs;
