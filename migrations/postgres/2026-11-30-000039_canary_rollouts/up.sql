-- Rollouts that move by themselves: the last one of each workflow, and the outcomes of its versions as each node has
-- counted them, by step. Programs of the release before do not move them; a change of the traffic by one of them ends them.
CREATE TABLE canary_rollouts (
    workflow_id    TEXT PRIMARY KEY NOT NULL,
    rollout_id     TEXT NOT NULL,
    canary_version BIGINT NOT NULL,
    stable_version BIGINT NOT NULL,
    plan           TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT,
    step           BIGINT NOT NULL DEFAULT 0,
    looks          BIGINT NOT NULL DEFAULT 0,
    figures        TEXT,
    step_since     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    created_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX canary_rollouts_open ON canary_rollouts (workflow_id) WHERE state IN ('watching', 'paused');

CREATE TABLE canary_outcomes (
    rollout_id TEXT NOT NULL,
    step       BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    reporter   TEXT NOT NULL,
    runs       BIGINT NOT NULL,
    errors     BIGINT NOT NULL,
    durations  TEXT NOT NULL,
    PRIMARY KEY (rollout_id, step, version, reporter)
);
