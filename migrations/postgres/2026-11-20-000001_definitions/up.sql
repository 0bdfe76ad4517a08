-- The database keeps `updated_at`; nobody else may be trusted to.
CREATE FUNCTION touch_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp() AT TIME ZONE 'utc';
    RETURN NEW;
END
$$;

CREATE FUNCTION refuse_active_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an active version of % is immutable', TG_TABLE_NAME;
END
$$;

-- One row per version of a workflow.
CREATE TABLE workflows (
    workflow_id        TEXT NOT NULL,
    version            BIGINT NOT NULL,
    name               TEXT NOT NULL,
    description        TEXT,
    priority           BIGINT NOT NULL DEFAULT 0,
    status             TEXT NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'active', 'archived')),
    rollout_percentage BIGINT NOT NULL DEFAULT 100,
    condition_json     TEXT NOT NULL DEFAULT 'true',
    tasks_json         TEXT NOT NULL DEFAULT '[]',
    tags_json          TEXT NOT NULL DEFAULT '[]',
    loop_json          TEXT,
    continue_on_error  BOOLEAN NOT NULL DEFAULT FALSE,
    created_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at         TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    PRIMARY KEY (workflow_id, version)
);

-- At most one draft per id.
CREATE UNIQUE INDEX workflows_one_draft ON workflows (workflow_id) WHERE status = 'draft';
CREATE INDEX workflows_status ON workflows (status, workflow_id);
CREATE INDEX workflows_order ON workflows (priority DESC, name);

CREATE TRIGGER workflows_touch BEFORE UPDATE ON workflows FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- What runs is never edited: a change is a new version.
CREATE TRIGGER workflows_active_frozen BEFORE UPDATE ON workflows FOR EACH ROW
WHEN (OLD.status = 'active' AND (
    NEW.workflow_id IS DISTINCT FROM OLD.workflow_id
    OR NEW.version IS DISTINCT FROM OLD.version
    OR NEW.name IS DISTINCT FROM OLD.name
    OR NEW.description IS DISTINCT FROM OLD.description
    OR NEW.priority IS DISTINCT FROM OLD.priority
    OR NEW.condition_json IS DISTINCT FROM OLD.condition_json
    OR NEW.tasks_json IS DISTINCT FROM OLD.tasks_json
    OR NEW.tags_json IS DISTINCT FROM OLD.tags_json
    OR NEW.loop_json IS DISTINCT FROM OLD.loop_json
    OR NEW.continue_on_error IS DISTINCT FROM OLD.continue_on_error
))
EXECUTE FUNCTION refuse_active_edit();

-- The highest version of each id.
CREATE VIEW current_workflows AS
SELECT
    w.workflow_id, w.version, w.name, w.description, w.priority, w.status, w.rollout_percentage,
    w.condition_json, w.tasks_json, w.tags_json, w.loop_json, w.continue_on_error, w.created_at,
    w.updated_at
FROM workflows w
WHERE w.version = (SELECT MAX(v.version) FROM workflows v WHERE v.workflow_id = w.workflow_id);

-- One row per version of a channel. `route_shape` is `route_pattern` with the parameter names erased:
-- two patterns collide when their shapes are equal.
CREATE TABLE channels (
    channel_id            TEXT NOT NULL,
    version               BIGINT NOT NULL,
    name                  TEXT NOT NULL,
    description           TEXT,
    channel_type          TEXT NOT NULL,
    protocol              TEXT NOT NULL,
    methods_json          TEXT,
    route_pattern         TEXT,
    route_shape           TEXT,
    topic                 TEXT,
    consumer_group        TEXT,
    transport_config_json TEXT NOT NULL DEFAULT '{}',
    workflow_id           TEXT,
    config_json           TEXT NOT NULL DEFAULT '{}',
    status                TEXT NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'active', 'archived')),
    priority              BIGINT NOT NULL DEFAULT 0,
    tags_json             TEXT NOT NULL DEFAULT '[]',
    created_at            TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at            TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    PRIMARY KEY (channel_id, version)
);

CREATE UNIQUE INDEX channels_one_draft ON channels (channel_id) WHERE status = 'draft';
-- The gates of an activation and the load of some ids must cost the same whatever else is stored, so these name
-- the status too: without it a planner may walk everything active.
CREATE INDEX channels_status ON channels (status, channel_id);
CREATE INDEX channels_name ON channels (name, status);
CREATE INDEX channels_route_pattern ON channels (route_pattern);
CREATE INDEX channels_route_shape ON channels (route_shape, status);
CREATE INDEX channels_topic ON channels (topic);
CREATE INDEX channels_workflow_id ON channels (workflow_id, status);

CREATE TRIGGER channels_touch BEFORE UPDATE ON channels FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

CREATE TRIGGER channels_active_frozen BEFORE UPDATE ON channels FOR EACH ROW
WHEN (OLD.status = 'active' AND (
    NEW.channel_id IS DISTINCT FROM OLD.channel_id
    OR NEW.version IS DISTINCT FROM OLD.version
    OR NEW.name IS DISTINCT FROM OLD.name
    OR NEW.description IS DISTINCT FROM OLD.description
    OR NEW.channel_type IS DISTINCT FROM OLD.channel_type
    OR NEW.protocol IS DISTINCT FROM OLD.protocol
    OR NEW.methods_json IS DISTINCT FROM OLD.methods_json
    OR NEW.route_pattern IS DISTINCT FROM OLD.route_pattern
    OR NEW.route_shape IS DISTINCT FROM OLD.route_shape
    OR NEW.topic IS DISTINCT FROM OLD.topic
    OR NEW.consumer_group IS DISTINCT FROM OLD.consumer_group
    OR NEW.transport_config_json IS DISTINCT FROM OLD.transport_config_json
    OR NEW.workflow_id IS DISTINCT FROM OLD.workflow_id
    OR NEW.config_json IS DISTINCT FROM OLD.config_json
    OR NEW.priority IS DISTINCT FROM OLD.priority
    OR NEW.tags_json IS DISTINCT FROM OLD.tags_json
))
EXECUTE FUNCTION refuse_active_edit();

CREATE VIEW current_channels AS
SELECT
    w.channel_id, w.version, w.name, w.description, w.channel_type, w.protocol, w.methods_json,
    w.route_pattern, w.route_shape, w.topic, w.consumer_group, w.transport_config_json,
    w.workflow_id, w.config_json, w.status, w.priority, w.tags_json, w.created_at, w.updated_at
FROM channels w
WHERE w.version = (SELECT MAX(v.version) FROM channels v WHERE v.channel_id = w.channel_id);

-- `config_json` is an encryption envelope when the service has a key.
CREATE TABLE connectors (
    id             TEXT PRIMARY KEY NOT NULL,
    name           TEXT NOT NULL UNIQUE,
    connector_type TEXT NOT NULL,
    config_json    TEXT NOT NULL DEFAULT '{}',
    enabled        BOOLEAN NOT NULL DEFAULT TRUE,
    tags_json      TEXT NOT NULL DEFAULT '[]',
    created_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

CREATE TRIGGER connectors_touch BEFORE UPDATE ON connectors FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Tokens of a connector. `fingerprint` ties them to the auth block they were obtained with.
CREATE TABLE connector_oauth_state (
    connector_name TEXT PRIMARY KEY NOT NULL,
    fingerprint    TEXT NOT NULL,
    state_json     TEXT NOT NULL,
    updated_at     TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

CREATE TRIGGER connector_oauth_state_touch BEFORE UPDATE ON connector_oauth_state FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
