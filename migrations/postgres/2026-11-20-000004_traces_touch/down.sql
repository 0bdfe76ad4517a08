DROP TRIGGER traces_touch ON traces;
CREATE TRIGGER traces_touch BEFORE UPDATE ON traces FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
