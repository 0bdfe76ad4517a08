-- The statements on the way of requests set `updated_at` themselves, which costs less; whoever does not has it set.
DROP TRIGGER traces_touch ON traces;
CREATE TRIGGER traces_touch BEFORE UPDATE ON traces FOR EACH ROW WHEN (NEW.updated_at = OLD.updated_at)
EXECUTE FUNCTION touch_updated_at();
