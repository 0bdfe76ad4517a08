DROP TABLE run_recordings;
