ALTER TABLE migration_checksums DROP COLUMN requires;
