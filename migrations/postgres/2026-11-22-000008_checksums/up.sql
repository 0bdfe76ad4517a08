-- What each migration was when it was run: one that differs later was changed after it had been applied somewhere.
CREATE TABLE migration_checksums (
    version TEXT NOT NULL PRIMARY KEY,
    checksum TEXT NOT NULL
);
