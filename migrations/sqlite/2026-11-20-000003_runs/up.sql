-- One row per traced run.
CREATE TABLE traces (
    id                TEXT PRIMARY KEY NOT NULL,
    channel           TEXT NOT NULL,
    channel_id        TEXT,
    mode              TEXT NOT NULL DEFAULT 'sync',
    status            TEXT NOT NULL DEFAULT 'pending',
    input_json        TEXT,
    result_json       TEXT,
    error_message     TEXT,
    duration_ms       DOUBLE,
    started_at        TEXT,
    completed_at      TEXT,
    task_trace_json   TEXT,
    access_token_hash TEXT,
    created_at        TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at        TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE INDEX traces_created ON traces (created_at, id);
CREATE INDEX traces_updated ON traces (updated_at);
CREATE INDEX traces_status ON traces (status, channel, mode, created_at);
CREATE INDEX traces_channel_id ON traces (channel_id);

CREATE TRIGGER traces_touch AFTER UPDATE ON traces FOR EACH ROW BEGIN
    UPDATE traces SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;

-- Asynchronous runs that failed and wait for another attempt.
CREATE TABLE trace_dlq (
    id            TEXT PRIMARY KEY NOT NULL,
    trace_id      TEXT NOT NULL,
    channel       TEXT NOT NULL,
    payload_json  TEXT NOT NULL,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    error_message TEXT NOT NULL,
    retry_count   INTEGER NOT NULL DEFAULT 0,
    max_retries   INTEGER NOT NULL DEFAULT 5,
    next_retry_at TEXT NOT NULL,
    claimed_by    TEXT,
    claimed_until TEXT,
    created_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE INDEX trace_dlq_retry ON trace_dlq (next_retry_at);
CREATE INDEX trace_dlq_created ON trace_dlq (created_at);
CREATE INDEX trace_dlq_channel ON trace_dlq (channel, created_at);
CREATE INDEX trace_dlq_claimed ON trace_dlq (claimed_until);

CREATE TRIGGER trace_dlq_touch AFTER UPDATE ON trace_dlq FOR EACH ROW BEGIN
    UPDATE trace_dlq SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;

-- The cursor of each schedule.
CREATE TABLE cron_schedule_state (
    channel_id      TEXT PRIMARY KEY NOT NULL,
    channel_version INTEGER NOT NULL,
    config_hash     TEXT NOT NULL,
    next_fire_at    TEXT NOT NULL,
    paused_at       TEXT,
    updated_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

CREATE TRIGGER cron_schedule_state_touch AFTER UPDATE ON cron_schedule_state FOR EACH ROW BEGIN
    UPDATE cron_schedule_state SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE channel_id = NEW.channel_id;
END;

-- The ledger: one row per instant of a schedule, whoever inserts it first.
CREATE TABLE cron_occurrences (
    id                TEXT PRIMARY KEY NOT NULL,
    channel_id        TEXT NOT NULL,
    channel_name      TEXT NOT NULL,
    channel_version   INTEGER NOT NULL,
    executing_version INTEGER,
    workflow_id       TEXT,
    "trigger"         TEXT NOT NULL DEFAULT 'cron',
    scheduled_for     TEXT NOT NULL,
    status            TEXT NOT NULL DEFAULT 'pending',
    attempt           INTEGER NOT NULL DEFAULT 0,
    claimed_by        TEXT,
    claimed_until     TEXT,
    singleton_key     TEXT,
    singleton_slot    INTEGER,
    fencing_token     INTEGER,
    trace_id          TEXT,
    error_message     TEXT,
    started_at        TEXT,
    completed_at      TEXT,
    created_at        TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at        TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    UNIQUE (channel_id, scheduled_for)
);
CREATE INDEX cron_occurrences_due ON cron_occurrences (status, scheduled_for);
CREATE INDEX cron_occurrences_claimed ON cron_occurrences (claimed_until);
CREATE INDEX cron_occurrences_created ON cron_occurrences (created_at, id);
CREATE INDEX cron_occurrences_channel ON cron_occurrences (channel_id, created_at);

CREATE TRIGGER cron_occurrences_touch AFTER UPDATE ON cron_occurrences FOR EACH ROW BEGIN
    UPDATE cron_occurrences SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;

-- Slots held by running occurrences; a row exists only while held.
CREATE TABLE cron_singletons (
    singleton_key TEXT NOT NULL,
    slot          INTEGER NOT NULL DEFAULT 0,
    occurrence_id TEXT NOT NULL,
    holder        TEXT NOT NULL,
    fencing_token INTEGER NOT NULL,
    lease_until   TEXT NOT NULL,
    updated_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    PRIMARY KEY (singleton_key, slot)
);
CREATE INDEX cron_singletons_lease ON cron_singletons (lease_until);

CREATE TRIGGER cron_singletons_touch AFTER UPDATE ON cron_singletons FOR EACH ROW BEGIN
    UPDATE cron_singletons SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE singleton_key = NEW.singleton_key AND slot = NEW.slot;
END;
