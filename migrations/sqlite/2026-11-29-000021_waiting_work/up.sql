-- Accepted work that waits in the database: the instant it was submitted for, the reason for which it waits, and the
-- instant before which it is not looked at. It has no owner, and a status (`scheduled`, `waiting`) that programs of the
-- release before take for none of theirs.
ALTER TABLE traces ADD COLUMN deliver_at TEXT;
ALTER TABLE traces ADD COLUMN waiting VARCHAR(16);
ALTER TABLE traces ADD COLUMN waits_until TEXT;
CREATE INDEX traces_waiting ON traces (waiting, channel_id, created_at, id) WHERE waiting IS NOT NULL;
CREATE INDEX traces_due ON traces (waits_until, id) WHERE waits_until IS NOT NULL;

-- The channel of which accepted work takes a share while it runs, and the key that has the share; an empty one has none
-- of its own.
ALTER TABLE traces ADD COLUMN queue_channel TEXT;
ALTER TABLE traces ADD COLUMN queue_key TEXT;
CREATE INDEX traces_lines ON traces (queue_channel, queue_key, created_at, id)
    WHERE waiting = 'share' AND waits_until IS NULL;
CREATE INDEX traces_shares ON traces (queue_channel, queue_key)
    WHERE queue_channel IS NOT NULL AND status IN ('pending', 'running');

-- The key of each channel that had the last turn.
CREATE TABLE queue_turns (
    channel_id TEXT PRIMARY KEY NOT NULL,
    last_key   TEXT NOT NULL
);
