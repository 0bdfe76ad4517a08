-- Backtests. The report so far and the position of the next page are written together, so that the next holder goes on
-- behind them. The report is bounded in bytes by the program.
CREATE TABLE backtests (
    id          TEXT PRIMARY KEY NOT NULL,
    kind        TEXT NOT NULL,
    definition  TEXT NOT NULL,
    version     INTEGER NOT NULL,
    terms_json  TEXT NOT NULL,
    run_limit   INTEGER NOT NULL,
    state       TEXT NOT NULL DEFAULT 'pending',
    done        INTEGER NOT NULL DEFAULT 0,
    position    TEXT,
    report_json TEXT,
    reason      TEXT,
    holder      TEXT,
    held_until  TEXT,
    started_by  TEXT NOT NULL,
    started_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    ended_at    TEXT
);
CREATE INDEX backtests_started ON backtests (started_at, id);
