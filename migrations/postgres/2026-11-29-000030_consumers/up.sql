-- The holders of keys that channels may accept. Programs of the release before know none.
CREATE TABLE consumers (
    name       TEXT PRIMARY KEY NOT NULL,
    tags       TEXT NOT NULL DEFAULT '[]',
    quota      TEXT,
    expires_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);

-- Their keys: of an API key the SHA-256, of a key that signs the text itself, encrypted if a key is configured.
CREATE TABLE consumer_keys (
    id         TEXT PRIMARY KEY NOT NULL,
    consumer   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    secret     TEXT NOT NULL,
    expires_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
CREATE INDEX consumer_keys_consumer ON consumer_keys (consumer, created_at);
