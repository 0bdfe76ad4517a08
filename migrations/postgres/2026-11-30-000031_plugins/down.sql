DROP TABLE plugin_components;
DROP TABLE plugins;
