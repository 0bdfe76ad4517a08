-- The messages that both versions of a rollout ran, one of them as a shadow, as each node has counted them, by step.
CREATE TABLE shadow_outcomes (
    rollout_id TEXT NOT NULL,
    step       BIGINT NOT NULL,
    reporter   TEXT NOT NULL,
    runs       BIGINT NOT NULL,
    different  BIGINT NOT NULL,
    PRIMARY KEY (rollout_id, step, reporter)
);
