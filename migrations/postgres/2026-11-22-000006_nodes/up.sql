-- The lease of each process: what it accepted is its own until the lease ends.
CREATE TABLE nodes (
    id          VARCHAR(128) PRIMARY KEY NOT NULL,
    version     TEXT NOT NULL,
    pid         BIGINT NOT NULL,
    started_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    renewed_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    lease_until TIMESTAMP NOT NULL,
    stopped_at  TIMESTAMP,
    emptied_at  TIMESTAMP
);

-- The node that runs an accepted submission, and how often it was begun again after a node died.
ALTER TABLE traces ADD COLUMN owner VARCHAR(128);
ALTER TABLE traces ADD COLUMN recoveries BIGINT NOT NULL DEFAULT 0;
