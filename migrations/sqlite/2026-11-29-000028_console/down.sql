DROP TABLE error_counts;
DROP TABLE node_figures;
