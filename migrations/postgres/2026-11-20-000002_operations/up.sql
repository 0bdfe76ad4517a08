-- Who changed what; written in the transaction of the change itself.
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

-- One row. Every change of what is served adds one to `epoch`; every mutation locks the row first, so
-- that mutations of several nodes follow one another.
CREATE TABLE config_epoch (
    id            BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    epoch         BIGINT NOT NULL DEFAULT 0,
    breaker_epoch BIGINT NOT NULL DEFAULT 0,
    breaker_key   TEXT NOT NULL DEFAULT '',
    updated_at    TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

INSERT INTO config_epoch (id) VALUES (1);

CREATE TRIGGER config_epoch_touch BEFORE UPDATE ON config_epoch FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Receipts of applied packages.
CREATE TABLE packages (
    name         TEXT NOT NULL,
    version      TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    state        TEXT NOT NULL DEFAULT 'staged',
    principal    TEXT NOT NULL DEFAULT '',
    created_at   TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at   TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    PRIMARY KEY (name, version)
);

CREATE TRIGGER packages_touch BEFORE UPDATE ON packages FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Which node runs a job of which one is enough.
CREATE TABLE job_leases (
    job_name   TEXT PRIMARY KEY NOT NULL,
    holder     TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
