-- Backtests. The report so far and the position of the next page are written together, so that the next holder goes on
-- behind them. The report is bounded in bytes by the program.
CREATE TABLE backtests (
    id          TEXT PRIMARY KEY NOT NULL,
    kind        TEXT NOT NULL,
    definition  TEXT NOT NULL,
    version     BIGINT NOT NULL,
    terms_json  TEXT NOT NULL,
    run_limit   BIGINT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'pending',
    done        BIGINT NOT NULL DEFAULT 0,
    position    TEXT,
    report_json TEXT,
    reason      TEXT,
    holder      TEXT,
    held_until  TIMESTAMP,
    started_by  TEXT NOT NULL,
    started_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    ended_at    TIMESTAMP
);
CREATE INDEX backtests_started ON backtests (started_at, id);
