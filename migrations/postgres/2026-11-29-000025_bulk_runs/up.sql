-- Actions on many rows. The position is written in the transaction that changes the rows of a page, so that the next
-- holder goes on behind them. A backfill has its instants, and its position is the number of those that were put on record.
CREATE TABLE bulk_runs (
    id              TEXT PRIMARY KEY NOT NULL,
    kind            TEXT NOT NULL,
    action          TEXT NOT NULL,
    filter_json     TEXT NOT NULL,
    instants_json   TEXT,
    rate_per_second BIGINT NOT NULL,
    state           TEXT NOT NULL DEFAULT 'running',
    matched         BIGINT NOT NULL,
    done            BIGINT NOT NULL DEFAULT 0,
    failed          BIGINT NOT NULL DEFAULT 0,
    skipped         BIGINT NOT NULL DEFAULT 0,
    errors_json     TEXT NOT NULL DEFAULT '[]',
    reason          TEXT,
    position        TEXT,
    holder          TEXT,
    held_until      TIMESTAMP,
    started_by      TEXT NOT NULL,
    started_at      TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    ended_at        TIMESTAMP
);
CREATE INDEX bulk_runs_started ON bulk_runs (started_at, id);

-- The backfill that put an occurrence on record.
ALTER TABLE cron_occurrences ADD COLUMN bulk_run_id TEXT;
CREATE INDEX cron_occurrences_backfilled ON cron_occurrences (bulk_run_id, status) WHERE bulk_run_id IS NOT NULL;
