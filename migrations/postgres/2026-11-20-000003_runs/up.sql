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
    duration_ms       DOUBLE PRECISION,
    started_at        TIMESTAMP,
    completed_at      TIMESTAMP,
    task_trace_json   TEXT,
    access_token_hash TEXT,
    created_at        TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at        TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX traces_created ON traces (created_at, id);
CREATE INDEX traces_updated ON traces (updated_at);
CREATE INDEX traces_status ON traces (status, channel, mode, created_at);
CREATE INDEX traces_channel_id ON traces (channel_id);

CREATE TRIGGER traces_touch BEFORE UPDATE ON traces FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Asynchronous runs that failed and wait for another attempt.
CREATE TABLE trace_dlq (
    id            TEXT PRIMARY KEY NOT NULL,
    trace_id      TEXT NOT NULL,
    channel       TEXT NOT NULL,
    payload_json  TEXT NOT NULL,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    error_message TEXT NOT NULL,
    retry_count   BIGINT NOT NULL DEFAULT 0,
    max_retries   BIGINT NOT NULL DEFAULT 5,
    next_retry_at TIMESTAMP NOT NULL,
    claimed_by    TEXT,
    claimed_until TIMESTAMP,
    created_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX trace_dlq_retry ON trace_dlq (next_retry_at);
CREATE INDEX trace_dlq_created ON trace_dlq (created_at);
CREATE INDEX trace_dlq_channel ON trace_dlq (channel, created_at);
CREATE INDEX trace_dlq_claimed ON trace_dlq (claimed_until);

CREATE TRIGGER trace_dlq_touch BEFORE UPDATE ON trace_dlq FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- The cursor of each schedule.
CREATE TABLE cron_schedule_state (
    channel_id      TEXT PRIMARY KEY NOT NULL,
    channel_version BIGINT NOT NULL,
    config_hash     TEXT NOT NULL,
    next_fire_at    TIMESTAMP NOT NULL,
    paused_at       TIMESTAMP,
    updated_at      TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

CREATE TRIGGER cron_schedule_state_touch BEFORE UPDATE ON cron_schedule_state FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- The ledger: one row per instant of a schedule, whoever inserts it first.
CREATE TABLE cron_occurrences (
    id                TEXT PRIMARY KEY NOT NULL,
    channel_id        TEXT NOT NULL,
    channel_name      TEXT NOT NULL,
    channel_version   BIGINT NOT NULL,
    executing_version BIGINT,
    workflow_id       TEXT,
    trigger           TEXT NOT NULL DEFAULT 'cron',
    scheduled_for     TIMESTAMP NOT NULL,
    status            TEXT NOT NULL DEFAULT 'pending',
    attempt           BIGINT NOT NULL DEFAULT 0,
    claimed_by        TEXT,
    claimed_until     TIMESTAMP,
    singleton_key     TEXT,
    singleton_slot    BIGINT,
    fencing_token     BIGINT,
    trace_id          TEXT,
    error_message     TEXT,
    started_at        TIMESTAMP,
    completed_at      TIMESTAMP,
    created_at        TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at        TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    UNIQUE (channel_id, scheduled_for)
);
CREATE INDEX cron_occurrences_due ON cron_occurrences (status, scheduled_for);
CREATE INDEX cron_occurrences_claimed ON cron_occurrences (claimed_until);
CREATE INDEX cron_occurrences_created ON cron_occurrences (created_at, id);
CREATE INDEX cron_occurrences_channel ON cron_occurrences (channel_id, created_at);

CREATE TRIGGER cron_occurrences_touch BEFORE UPDATE ON cron_occurrences FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Slots held by running occurrences; a row exists only while held.
CREATE TABLE cron_singletons (
    singleton_key TEXT NOT NULL,
    slot          BIGINT NOT NULL DEFAULT 0,
    occurrence_id TEXT NOT NULL,
    holder        TEXT NOT NULL,
    fencing_token BIGINT NOT NULL,
    lease_until   TIMESTAMP NOT NULL,
    updated_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    PRIMARY KEY (singleton_key, slot)
);
CREATE INDEX cron_singletons_lease ON cron_singletons (lease_until);

CREATE TRIGGER cron_singletons_touch BEFORE UPDATE ON cron_singletons FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
