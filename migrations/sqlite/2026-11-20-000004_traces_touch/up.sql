-- The statements on the way of requests set `updated_at` themselves, which costs less; whoever does not has it set.
DROP TRIGGER traces_touch;
CREATE TRIGGER traces_touch AFTER UPDATE ON traces FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at BEGIN
    UPDATE traces SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
