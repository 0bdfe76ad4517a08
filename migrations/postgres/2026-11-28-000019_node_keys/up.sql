-- The ids of the encryption keys that a node can read, as a JSON array; null for a program that does not tell them.
ALTER TABLE nodes ADD COLUMN encryption_key_ids TEXT;
