DROP TABLE migration_checksums;
