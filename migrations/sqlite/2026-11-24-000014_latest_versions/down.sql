DROP INDEX workflows_latest_status;
DROP INDEX workflows_latest;
CREATE INDEX workflows_order ON workflows (priority DESC, name);
DROP TRIGGER workflows_supersede;
DROP TRIGGER workflows_touch;
ALTER TABLE workflows DROP COLUMN is_latest;
CREATE TRIGGER workflows_touch AFTER UPDATE ON workflows FOR EACH ROW BEGIN
    UPDATE workflows SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE workflow_id = NEW.workflow_id AND version = NEW.version;
END;
DROP INDEX channels_latest_status;
DROP INDEX channels_latest;
CREATE INDEX channels_order ON channels (priority DESC, name, channel_id, version, status);
DROP TRIGGER channels_supersede;
DROP TRIGGER channels_touch;
ALTER TABLE channels DROP COLUMN is_latest;
CREATE TRIGGER channels_touch AFTER UPDATE ON channels FOR EACH ROW BEGIN
    UPDATE channels SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE channel_id = NEW.channel_id AND version = NEW.version;
END;
