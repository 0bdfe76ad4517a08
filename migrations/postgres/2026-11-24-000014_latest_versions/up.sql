-- Whether a version is the highest of its id: a list and its total read no other, whatever the number of versions. An
-- insert takes the mark from the versions before, also where a program that does not know it inserts. What sets
-- `updated_at` itself costs less; the mark changes nothing of a version.
ALTER TABLE workflows ADD COLUMN is_latest BOOLEAN NOT NULL DEFAULT TRUE;
DROP TRIGGER workflows_touch ON workflows;
UPDATE workflows SET is_latest = FALSE
WHERE EXISTS (SELECT 1 FROM workflows newer WHERE newer.workflow_id = workflows.workflow_id AND newer.version > workflows.version);
CREATE TRIGGER workflows_touch BEFORE UPDATE ON workflows FOR EACH ROW
WHEN (NEW.updated_at = OLD.updated_at AND NEW.is_latest = OLD.is_latest) EXECUTE FUNCTION touch_updated_at();
CREATE FUNCTION supersede_workflow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workflows SET is_latest = FALSE WHERE workflow_id = NEW.workflow_id AND version < NEW.version AND is_latest;
    RETURN NULL;
END
$$;
CREATE TRIGGER workflows_supersede AFTER INSERT ON workflows FOR EACH ROW WHEN (NEW.version > 1) EXECUTE FUNCTION supersede_workflow();
DROP INDEX workflows_order;
CREATE INDEX workflows_latest ON workflows (priority DESC, name, workflow_id) WHERE is_latest;
CREATE INDEX workflows_latest_status ON workflows (status, priority DESC, name, workflow_id) WHERE is_latest;

ALTER TABLE channels ADD COLUMN is_latest BOOLEAN NOT NULL DEFAULT TRUE;
DROP TRIGGER channels_touch ON channels;
UPDATE channels SET is_latest = FALSE
WHERE EXISTS (SELECT 1 FROM channels newer WHERE newer.channel_id = channels.channel_id AND newer.version > channels.version);
CREATE TRIGGER channels_touch BEFORE UPDATE ON channels FOR EACH ROW
WHEN (NEW.updated_at = OLD.updated_at AND NEW.is_latest = OLD.is_latest) EXECUTE FUNCTION touch_updated_at();
CREATE FUNCTION supersede_channel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE channels SET is_latest = FALSE WHERE channel_id = NEW.channel_id AND version < NEW.version AND is_latest;
    RETURN NULL;
END
$$;
CREATE TRIGGER channels_supersede AFTER INSERT ON channels FOR EACH ROW WHEN (NEW.version > 1) EXECUTE FUNCTION supersede_channel();
DROP INDEX channels_order;
CREATE INDEX channels_latest ON channels (priority DESC, name, channel_id) WHERE is_latest;
CREATE INDEX channels_latest_status ON channels (status, priority DESC, name, channel_id) WHERE is_latest;
