-- The lease of each process: what it accepted is its own until the lease ends.
CREATE TABLE nodes (
    id          VARCHAR(128) PRIMARY KEY NOT NULL,
    version     TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    started_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    renewed_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    lease_until TEXT NOT NULL,
    stopped_at  TEXT,
    emptied_at  TEXT
);

-- The node that runs an accepted submission, and how often it was begun again after a node died.
ALTER TABLE traces ADD COLUMN owner VARCHAR(128);
ALTER TABLE traces ADD COLUMN recoveries INTEGER NOT NULL DEFAULT 0;
