ALTER TABLE nodes DROP COLUMN applied_epoch;
DROP TABLE breaker_resets;
DROP TABLE config_changes;
