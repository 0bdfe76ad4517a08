-- The changes of the served configuration, each with the epoch it made: other nodes load what is named, not everything.
CREATE TABLE config_changes (
    epoch     BIGINT PRIMARY KEY NOT NULL,
    kind      TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    change_id TEXT NOT NULL
);

-- Circuit breakers that were reset, in order: each node resets its own of that key.
CREATE TABLE breaker_resets (
    sequence    BIGINT PRIMARY KEY NOT NULL,
    breaker_key TEXT NOT NULL,
    change_id   TEXT NOT NULL
);

-- The latest epoch that the node serves.
ALTER TABLE nodes ADD COLUMN applied_epoch BIGINT;
