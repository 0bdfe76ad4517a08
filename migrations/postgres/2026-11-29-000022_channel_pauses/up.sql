-- The channels that are paused. A state of what serves: it outlives versions of the channel, and restarts.
CREATE TABLE channel_pauses (
    channel_id   TEXT PRIMARY KEY NOT NULL,
    paused_since TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    paused_until TIMESTAMP,
    paused_by    TEXT NOT NULL,
    reason       TEXT NOT NULL
);
CREATE INDEX channel_pauses_until ON channel_pauses (paused_until);

-- The failures of channels that pause themselves, as long as they count.
CREATE TABLE channel_failures (
    id         TEXT PRIMARY KEY NOT NULL,
    channel_id TEXT NOT NULL,
    failed_at  TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX channel_failures_channel ON channel_failures (channel_id, failed_at);
