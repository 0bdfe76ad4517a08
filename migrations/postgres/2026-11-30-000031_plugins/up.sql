-- Plugins: the versions of their manifests. Programs of the release before know none.
CREATE TABLE plugins (
    id         TEXT NOT NULL,
    version    BIGINT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('draft', 'active', 'archived')),
    manifest   TEXT NOT NULL,
    digest     TEXT NOT NULL,
    signature  TEXT,
    created_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    updated_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc')),
    PRIMARY KEY (id, version)
);
CREATE UNIQUE INDEX plugins_one_draft ON plugins (id) WHERE status = 'draft';
CREATE UNIQUE INDEX plugins_one_active ON plugins (id) WHERE status = 'active';

-- The bytes of their components, in base64: a component is stored once, whatever versions have it.
CREATE TABLE plugin_components (
    digest     TEXT PRIMARY KEY NOT NULL,
    component  TEXT NOT NULL,
    bytes      BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT ((clock_timestamp() AT TIME ZONE 'utc'))
);
