-- The keys of the entities of a package version, as JSON; absent where an apply did not tell them.
ALTER TABLE packages ADD COLUMN inventory_json TEXT;
