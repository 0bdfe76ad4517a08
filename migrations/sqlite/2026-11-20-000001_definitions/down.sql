DROP TABLE connector_oauth_state;
DROP TABLE connectors;
DROP VIEW current_channels;
DROP TABLE channels;
DROP VIEW current_workflows;
DROP TABLE workflows;
