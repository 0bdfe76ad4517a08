-- Rollouts that move by themselves: the last one of each workflow, and the outcomes of its versions as each node has
-- counted them, by step. Programs of the release before do not move them; a change of the traffic by one of them ends them.
CREATE TABLE canary_rollouts (
    workflow_id    TEXT PRIMARY KEY NOT NULL,
    rollout_id     TEXT NOT NULL,
    canary_version INTEGER NOT NULL,
    stable_version INTEGER NOT NULL,
    plan           TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT,
    step           INTEGER NOT NULL DEFAULT 0,
    looks          INTEGER NOT NULL DEFAULT 0,
    figures        TEXT,
    step_since     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    created_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE INDEX canary_rollouts_open ON canary_rollouts (workflow_id) WHERE state IN ('watching', 'paused');

CREATE TABLE canary_outcomes (
    rollout_id TEXT NOT NULL,
    step       INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    reporter   TEXT NOT NULL,
    runs       INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    durations  TEXT NOT NULL,
    PRIMARY KEY (rollout_id, step, version, reporter)
);
