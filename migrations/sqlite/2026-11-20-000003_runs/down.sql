DROP TABLE cron_singletons;
DROP TABLE cron_occurrences;
DROP TABLE cron_schedule_state;
DROP TABLE trace_dlq;
DROP TABLE traces;
