CREATE INDEX traces_updated ON traces (updated_at);
CREATE INDEX traces_channel_id ON traces (channel_id);
