-- Webhooks to customers. An endpoint has its topics in rows of their own, by which an event finds it.
CREATE TABLE webhook_endpoints (
    id            TEXT PRIMARY KEY NOT NULL,
    url           TEXT NOT NULL,
    consumer      TEXT,
    connector     TEXT NOT NULL,
    secrets_json  TEXT NOT NULL,
    state         TEXT NOT NULL DEFAULT 'unverified',
    reason        TEXT,
    failing_since TEXT,
    verified_at   TEXT,
    created_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE INDEX webhook_endpoints_listed ON webhook_endpoints (created_at, id);
CREATE INDEX webhook_endpoints_consumer ON webhook_endpoints (consumer, created_at, id) WHERE consumer IS NOT NULL;

CREATE TABLE webhook_topics (
    topic       TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    PRIMARY KEY (topic, endpoint_id)
);
CREATE INDEX webhook_topics_endpoint ON webhook_topics (endpoint_id);

-- One row for each event and endpoint. A claim moves due_at to the end of its lease and counts up: a node that was killed
-- leaves a row that is due again then, and a write under an earlier claim finds another number.
CREATE TABLE webhook_deliveries (
    id          TEXT PRIMARY KEY NOT NULL,
    endpoint_id TEXT NOT NULL,
    webhook_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    payload     TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'pending',
    attempts    INTEGER NOT NULL DEFAULT 0,
    claim       INTEGER NOT NULL DEFAULT 0,
    claimed_by  TEXT,
    due_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    last_status INTEGER,
    last_error  TEXT,
    created_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    ended_at    TEXT
);
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (endpoint_id, webhook_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (endpoint_id, created_at, id) WHERE state = 'failed';
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE webhook_attempts (
    id          TEXT PRIMARY KEY NOT NULL,
    endpoint_id TEXT NOT NULL,
    webhook_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    status      INTEGER,
    error       TEXT,
    duration_ms INTEGER NOT NULL,
    created_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE INDEX webhook_attempts_listed ON webhook_attempts (endpoint_id, created_at, id);
CREATE INDEX webhook_attempts_created ON webhook_attempts (created_at);
