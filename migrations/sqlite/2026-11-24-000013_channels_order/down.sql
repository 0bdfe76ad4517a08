DROP INDEX channels_order;
