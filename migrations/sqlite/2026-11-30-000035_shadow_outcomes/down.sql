DROP TABLE shadow_outcomes;
