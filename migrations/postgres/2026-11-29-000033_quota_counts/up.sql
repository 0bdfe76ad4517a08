-- The requests that nodes have reserved of quotas, by key and slice of the window. The slice -1 of a key is the lock under
-- which its slices are added up. Programs of the release before have no quotas.
CREATE TABLE quota_counts (
    channel_id TEXT NOT NULL,
    quota_key  TEXT NOT NULL,
    slice      BIGINT NOT NULL,
    used       BIGINT NOT NULL,
    ends_at    TIMESTAMP NOT NULL,
    PRIMARY KEY (channel_id, quota_key, slice)
);
CREATE INDEX quota_counts_end ON quota_counts (ends_at);
