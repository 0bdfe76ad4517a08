DROP TABLE channel_failures;
DROP TABLE channel_pauses;
