-- The figures of each node: one small row, which the node replaces every few seconds.
CREATE TABLE node_figures (
    node_id      TEXT PRIMARY KEY NOT NULL,
    figures_json TEXT NOT NULL,
    written_at   TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

-- Failures by error group and minute since 1970 of the clock of the database. Every node adds what it counted in memory, so
-- that no failure pays for a write of its own.
CREATE TABLE error_counts (
    minute      BIGINT NOT NULL,
    error_group TEXT NOT NULL,
    failures    BIGINT NOT NULL,
    PRIMARY KEY (minute, error_group)
);
