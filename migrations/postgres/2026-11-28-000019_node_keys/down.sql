ALTER TABLE nodes DROP COLUMN encryption_key_ids;
