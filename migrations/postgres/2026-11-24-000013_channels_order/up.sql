-- A page of the list of channels ends after its rows. The last two columns let an entry be skipped without its row.
CREATE INDEX channels_order ON channels (priority DESC, name, channel_id, version, status);
