-- Actions on many rows. The position is written in the transaction that changes the rows of a page, so that the next
-- holder goes on behind them. A backfill has its instants, and its position is the number of those that were put on record.
CREATE TABLE bulk_runs (
    id              TEXT PRIMARY KEY NOT NULL,
    kind            TEXT NOT NULL,
    action          TEXT NOT NULL,
    filter_json     TEXT NOT NULL,
    instants_json   TEXT,
    rate_per_second INTEGER NOT NULL,
    state           TEXT NOT NULL DEFAULT 'running',
    matched         INTEGER NOT NULL,
    done            INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    skipped         INTEGER NOT NULL DEFAULT 0,
    errors_json     TEXT NOT NULL DEFAULT '[]',
    reason          TEXT,
    position        TEXT,
    holder          TEXT,
    held_until      TEXT,
    started_by      TEXT NOT NULL,
    started_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    ended_at        TEXT
);
CREATE INDEX bulk_runs_started ON bulk_runs (started_at, id);

-- The backfill that put an occurrence on record.
ALTER TABLE cron_occurrences ADD COLUMN bulk_run_id TEXT;
CREATE INDEX cron_occurrences_backfilled ON cron_occurrences (bulk_run_id, status) WHERE bulk_run_id IS NOT NULL;
