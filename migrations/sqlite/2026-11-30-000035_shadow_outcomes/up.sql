-- The messages that both versions of a rollout ran, one of them as a shadow, as each node has counted them, by step.
CREATE TABLE shadow_outcomes (
    rollout_id TEXT NOT NULL,
    step       INTEGER NOT NULL,
    reporter   TEXT NOT NULL,
    runs       INTEGER NOT NULL,
    different  INTEGER NOT NULL,
    PRIMARY KEY (rollout_id, step, reporter)
);
