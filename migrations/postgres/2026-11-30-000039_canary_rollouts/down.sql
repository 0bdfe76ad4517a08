DROP TABLE canary_outcomes;
DROP TABLE canary_rollouts;
