-- Recorded runs: the message, the calls with their answers, and the end, over which another version can be run.
CREATE TABLE run_recordings (
    id               TEXT PRIMARY KEY NOT NULL,
    run_id           TEXT NOT NULL,
    run_key          TEXT NOT NULL,
    channel_id       TEXT NOT NULL,
    channel          TEXT NOT NULL,
    workflow_id      TEXT,
    workflow_version BIGINT,
    source           TEXT NOT NULL,
    outcome          TEXT NOT NULL,
    recording_json   TEXT NOT NULL,
    bytes            BIGINT NOT NULL,
    created_at       TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX run_recordings_created ON run_recordings (created_at, id);
CREATE INDEX run_recordings_channel ON run_recordings (channel_id, created_at, id);
CREATE INDEX run_recordings_named ON run_recordings (channel, created_at, id);
CREATE INDEX run_recordings_workflow ON run_recordings (workflow_id, created_at, id) WHERE workflow_id IS NOT NULL;
CREATE INDEX run_recordings_run_key ON run_recordings (run_key);
