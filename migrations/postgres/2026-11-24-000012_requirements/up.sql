-- The migration that a program must know to run on the schema from this one on, by its version; null where any can.
ALTER TABLE migration_checksums ADD COLUMN requires TEXT;
