-- Leases that ended without a result since the last retry, claims ever made, and whether the next claim finds its attempt
-- counted.
ALTER TABLE cron_occurrences ADD COLUMN recoveries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cron_occurrences ADD COLUMN attempt_counted BOOLEAN NOT NULL DEFAULT FALSE;

-- Lists are asked for by status, and by when occurrences were due.
CREATE INDEX cron_occurrences_scheduled ON cron_occurrences (scheduled_for);
CREATE INDEX cron_occurrences_status ON cron_occurrences (status, created_at, id);

-- The ledger sets `updated_at` itself, which costs less; whoever does not has it set.
DROP TRIGGER cron_schedule_state_touch;
CREATE TRIGGER cron_schedule_state_touch AFTER UPDATE ON cron_schedule_state FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at BEGIN
    UPDATE cron_schedule_state SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE channel_id = NEW.channel_id;
END;
DROP TRIGGER cron_occurrences_touch;
CREATE TRIGGER cron_occurrences_touch AFTER UPDATE ON cron_occurrences FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at BEGIN
    UPDATE cron_occurrences SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
DROP TRIGGER cron_singletons_touch;
CREATE TRIGGER cron_singletons_touch AFTER UPDATE ON cron_singletons FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at BEGIN
    UPDATE cron_singletons SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE singleton_key = NEW.singleton_key AND slot = NEW.slot;
END;
