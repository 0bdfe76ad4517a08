DROP INDEX cron_occurrences_status;
DROP INDEX cron_occurrences_scheduled;
DROP TRIGGER cron_schedule_state_touch;
CREATE TRIGGER cron_schedule_state_touch AFTER UPDATE ON cron_schedule_state FOR EACH ROW BEGIN
    UPDATE cron_schedule_state SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE channel_id = NEW.channel_id;
END;
DROP TRIGGER cron_occurrences_touch;
CREATE TRIGGER cron_occurrences_touch AFTER UPDATE ON cron_occurrences FOR EACH ROW BEGIN
    UPDATE cron_occurrences SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
DROP TRIGGER cron_singletons_touch;
CREATE TRIGGER cron_singletons_touch AFTER UPDATE ON cron_singletons FOR EACH ROW BEGIN
    UPDATE cron_singletons SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE singleton_key = NEW.singleton_key AND slot = NEW.slot;
END;
ALTER TABLE cron_occurrences DROP COLUMN attempt_counted;
ALTER TABLE cron_occurrences DROP COLUMN claims;
ALTER TABLE cron_occurrences DROP COLUMN recoveries;
