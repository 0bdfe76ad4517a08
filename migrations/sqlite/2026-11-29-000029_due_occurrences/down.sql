DROP INDEX cron_occurrences_due;
