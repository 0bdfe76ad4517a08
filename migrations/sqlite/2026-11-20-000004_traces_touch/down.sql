DROP TRIGGER traces_touch;
CREATE TRIGGER traces_touch AFTER UPDATE ON traces FOR EACH ROW BEGIN
    UPDATE traces SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
