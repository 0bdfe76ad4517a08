ALTER TABLE traces DROP COLUMN recoveries;
ALTER TABLE traces DROP COLUMN owner;
DROP TABLE nodes;
