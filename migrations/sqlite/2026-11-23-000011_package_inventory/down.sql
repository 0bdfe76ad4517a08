ALTER TABLE packages DROP COLUMN inventory_json;
