DROP TABLE consumer_keys;
DROP TABLE consumers;
