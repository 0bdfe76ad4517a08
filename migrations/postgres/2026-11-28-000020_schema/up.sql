-- The schema of 0.1.0. Later migrations only add to it. `actors/store/src/earlier` gives a database of the builds before
-- the section "Definitions", and keeps its other tables.

-- The database keeps `updated_at`; nobody else may be trusted to.
CREATE FUNCTION touch_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp() AT TIME ZONE 'utc';
    RETURN NEW;
END
$$;

-- The checksum of each migration as it was run: one that differs later was changed after it had been applied. `requires` is
-- the version of the migration that a program must know to run on the schema from this one on; null if any program can.
CREATE TABLE migration_checksums (
    version  TEXT NOT NULL PRIMARY KEY,
    checksum TEXT NOT NULL,
    requires TEXT
);

-- Tokens of a connector. `fingerprint` ties them to the auth block they were obtained with.
CREATE TABLE connector_oauth_state (
    connector_name TEXT PRIMARY KEY NOT NULL,
    fingerprint    TEXT NOT NULL,
    state_json     TEXT NOT NULL,
    updated_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

CREATE TRIGGER connector_oauth_state_touch BEFORE UPDATE ON connector_oauth_state FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- The changes and their authors; written in the transaction of the change itself.
CREATE TABLE audit_logs (
    id            TEXT PRIMARY KEY NOT NULL,
    principal     TEXT NOT NULL,
    action        TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id   TEXT NOT NULL,
    details       TEXT,
    created_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

CREATE INDEX audit_logs_created ON audit_logs (created_at);
CREATE INDEX audit_logs_resource ON audit_logs (resource_type, resource_id);
CREATE INDEX audit_logs_principal ON audit_logs (principal, created_at);
CREATE INDEX audit_logs_action ON audit_logs (action, created_at);

-- One row. Every change of the served configuration adds one to `epoch`; every mutation locks the row first, so that
-- mutations of several nodes follow one another.
CREATE TABLE config_epoch (
    id            BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    epoch         BIGINT NOT NULL DEFAULT 0,
    breaker_epoch BIGINT NOT NULL DEFAULT 0,
    breaker_key   TEXT NOT NULL DEFAULT '',
    updated_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

INSERT INTO config_epoch (id) VALUES (1);

CREATE TRIGGER config_epoch_touch BEFORE UPDATE ON config_epoch FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

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

-- Receipts of applied packages. The inventory has the keys of the entities of a version, as JSON; null if the apply told
-- none.
CREATE TABLE packages (
    name           TEXT NOT NULL,
    version        TEXT NOT NULL,
    content_hash   TEXT NOT NULL,
    state          TEXT NOT NULL DEFAULT 'staged',
    principal      TEXT NOT NULL DEFAULT '',
    created_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    inventory_json TEXT,
    PRIMARY KEY (name, version)
);

CREATE TRIGGER packages_touch BEFORE UPDATE ON packages FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- The node that runs a job of which one is enough.
CREATE TABLE job_leases (
    job_name   TEXT PRIMARY KEY NOT NULL,
    holder     TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

-- The lease of each process: the work that it accepted is its own until the lease ends. `applied_epoch` is the latest epoch
-- that it serves, `encryption_key_ids` the ids of the encryption keys that it can read, as a JSON array.
CREATE TABLE nodes (
    id                 VARCHAR(128) PRIMARY KEY NOT NULL,
    version            TEXT NOT NULL,
    pid                BIGINT NOT NULL,
    started_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    renewed_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    lease_until        TIMESTAMP NOT NULL,
    stopped_at         TIMESTAMP,
    emptied_at         TIMESTAMP,
    applied_epoch      BIGINT,
    encryption_key_ids TEXT
);

-- One row per traced run. `owner` is the node that runs accepted work, `recoveries` how often the work was begun again after
-- a node died. `workflow_id` and `workflow_version` are absent for a run that has not begun.
--
-- The row that a 202 named is the work and the trace of its first attempt: it has the number and the state of the newest
-- attempt, the instant of the next one, and the end of the first. A later attempt has a row of its own, which names the
-- work (`attempt_of`).
CREATE TABLE traces (
    id                 TEXT PRIMARY KEY NOT NULL,
    channel            TEXT NOT NULL,
    channel_id         TEXT,
    mode               TEXT NOT NULL DEFAULT 'sync',
    status             TEXT NOT NULL DEFAULT 'pending',
    input_json         TEXT,
    result_json        TEXT,
    error_message      TEXT,
    duration_ms        DOUBLE PRECISION,
    started_at         TIMESTAMP,
    completed_at       TIMESTAMP,
    task_trace_json    TEXT,
    access_token_hash  TEXT,
    created_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    owner              VARCHAR(128),
    recoveries         BIGINT NOT NULL DEFAULT 0,
    workflow_id        TEXT,
    workflow_version   BIGINT,
    attempt            BIGINT NOT NULL DEFAULT 1,
    attempt_of         VARCHAR(36),
    next_retry_at      TIMESTAMP,
    first_attempt_json TEXT,
    request_id         TEXT,
    error_code         TEXT
);

-- Every run pays for each index of its row: failed runs alone are found by their request.
CREATE INDEX traces_created ON traces (created_at, id);
CREATE INDEX traces_status ON traces (status, channel, mode, created_at);
CREATE INDEX traces_attempts ON traces (attempt_of, attempt) WHERE attempt_of IS NOT NULL;
CREATE INDEX traces_failed_requests ON traces (request_id) WHERE status = 'failed';

-- The statements on the way of requests set `updated_at` themselves, which costs less.
CREATE TRIGGER traces_touch BEFORE UPDATE ON traces FOR EACH ROW
WHEN (NEW.updated_at = OLD.updated_at) EXECUTE FUNCTION touch_updated_at();

-- Asynchronous runs that failed and wait for another attempt. `attempt_of` is the work of a later attempt.
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
    updated_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    attempt_of    VARCHAR(36)
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

-- The ledger: one row per instant of a schedule, whoever inserts it first. `recoveries` counts the leases that ended without
-- a result since the last retry, `claims` all claims; `attempt_counted` says that the next claim finds its attempt counted.
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
    recoveries        BIGINT NOT NULL DEFAULT 0,
    claims            BIGINT NOT NULL DEFAULT 0,
    attempt_counted   BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (channel_id, scheduled_for)
);

CREATE INDEX cron_occurrences_created ON cron_occurrences (created_at, id);
CREATE INDEX cron_occurrences_channel ON cron_occurrences (channel_id, created_at);
CREATE INDEX cron_occurrences_scheduled ON cron_occurrences (scheduled_for);
CREATE INDEX cron_occurrences_status ON cron_occurrences (status, created_at, id);

-- A claim finds the oldest rows that wait, and those whose lease may have expired, whatever else the ledger keeps: each of
-- these indexes holds such rows only. Rows that have ended cost neither anything.
CREATE INDEX cron_occurrences_pending ON cron_occurrences (status, scheduled_for, id) WHERE status = 'pending';
CREATE INDEX cron_occurrences_leased ON cron_occurrences (scheduled_for, id)
WHERE status IN ('claimed', 'running');

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

-- Definitions

-- One row per version of a workflow or a channel, and one per connector (version 1, no status). `content` is the document
-- that an author wrote, as JSON in its order, with its secrets encrypted if the service has a key.
--
-- The columns after the times repeat members of the content, for the lists and checks that read them; only the service
-- writes them. `is_latest` marks the highest version of an id: a list reads no other. `route_shape` is the route of a channel
-- with the names of its parameters erased: two routes collide when their shapes are equal.
CREATE TABLE definitions (
    kind        TEXT NOT NULL,
    id          TEXT NOT NULL,
    version     BIGINT NOT NULL,
    status      TEXT CHECK (status IN ('draft', 'active', 'archived')),
    name        TEXT NOT NULL,
    rollout     BIGINT NOT NULL DEFAULT 100,
    content     TEXT NOT NULL,
    created_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    is_latest   BOOLEAN NOT NULL DEFAULT TRUE,
    priority    BIGINT NOT NULL DEFAULT 0,
    type        TEXT,
    protocol    TEXT,
    route_shape TEXT,
    workflow_id TEXT,
    tags        TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (kind, id, version)
);

-- At most one draft per id, one connector per name.
CREATE UNIQUE INDEX definitions_one_draft ON definitions (kind, id) WHERE status = 'draft';
CREATE UNIQUE INDEX definitions_connector_name ON definitions (name) WHERE kind = 'connector';

-- The checks of an activation and the load of some ids must cost the same whatever else is stored, so these name the
-- status too: without it a planner may walk everything active.
CREATE INDEX definitions_status ON definitions (kind, status, id, version DESC);
CREATE INDEX definitions_name ON definitions (kind, name, status);
CREATE INDEX definitions_route_shape ON definitions (route_shape, status) WHERE route_shape IS NOT NULL;
CREATE INDEX definitions_workflow_id ON definitions (kind, workflow_id, status) WHERE workflow_id IS NOT NULL;

-- A page of a list ends after its rows.
CREATE INDEX definitions_latest ON definitions (kind, priority DESC, name, id) WHERE is_latest;
CREATE INDEX definitions_latest_status ON definitions (kind, status, priority DESC, name, id) WHERE is_latest;

-- The mark of the latest version changes nothing of a version.
CREATE TRIGGER definitions_touch BEFORE UPDATE ON definitions FOR EACH ROW
WHEN (NEW.updated_at = OLD.updated_at AND NEW.is_latest = OLD.is_latest) EXECUTE FUNCTION touch_updated_at();

-- An insert takes the mark from the versions before.
CREATE FUNCTION supersede_definition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE definitions SET is_latest = FALSE
    WHERE kind = NEW.kind AND id = NEW.id AND version < NEW.version AND is_latest;
    RETURN NULL;
END
$$;
CREATE TRIGGER definitions_supersede AFTER INSERT ON definitions FOR EACH ROW WHEN (NEW.version > 1)
EXECUTE FUNCTION supersede_definition();

-- An active version is never edited: a change is a new version.
CREATE FUNCTION refuse_active_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an active version of % is immutable', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER definitions_active_frozen BEFORE UPDATE ON definitions FOR EACH ROW
WHEN (OLD.status = 'active' AND (
    NEW.kind IS DISTINCT FROM OLD.kind
    OR NEW.id IS DISTINCT FROM OLD.id
    OR NEW.version IS DISTINCT FROM OLD.version
    OR NEW.name IS DISTINCT FROM OLD.name
    OR NEW.content IS DISTINCT FROM OLD.content
    OR NEW.priority IS DISTINCT FROM OLD.priority
    OR NEW.type IS DISTINCT FROM OLD.type
    OR NEW.protocol IS DISTINCT FROM OLD.protocol
    OR NEW.route_shape IS DISTINCT FROM OLD.route_shape
    OR NEW.workflow_id IS DISTINCT FROM OLD.workflow_id
    OR NEW.tags IS DISTINCT FROM OLD.tags
))
EXECUTE FUNCTION refuse_active_edit();
