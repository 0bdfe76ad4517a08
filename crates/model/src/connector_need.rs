//! The requirements of a task on the connector that it names.

use serde_json::Value;

use crate::config::connector::DatabaseKind;

/// A connector that a task refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorNeed {
    /// Path of the field with the reference, such as `tasks[2].function.input.connector`.
    pub field: String,
    /// Name of the connector.
    pub connector: String,
    /// Types that the function of the task accepts; empty for any.
    pub accepts: Vec<String>,
    /// True if the function uses SQL, which MongoDB does not support.
    pub speaks_sql: bool,
    /// True if the function works only with MongoDB.
    pub speaks_mongodb: bool,
    /// True if the task names a `database`, which a MongoDB connector requires.
    pub names_database: bool,
    /// True if the task computes a whole address, which `allow_urls` of the connector must allow.
    pub computes_address: bool,
    /// True if the loaded connector leads to MongoDB; `None` if that is unknown. The stored settings do not
    /// always show it: they may be a reference, or encrypted under a key that is not configured.
    pub is_mongodb: Option<bool>,
    /// The objection of the loaded connector to the task, if it is known in advance.
    pub objection: Option<String>,
}

impl ConnectorNeed {
    /// Returns the reason why a connector of this type and config cannot be used.
    pub fn objection_to(&self, kind: &str, config: &Value) -> Option<String> {
        if !self.accepts.is_empty() && self.accepts.iter().all(|accepted| accepted != kind) {
            let accepted = self.accepts.join(", ");
            return Some(format!("connector '{}' is of type '{kind}', accepted: {accepted}", self.connector));
        }
        if self.objection.is_some() {
            return self.objection.clone();
        }
        if self.computes_address && lacks_allowed_urls(config) {
            let connector = &self.connector;
            return Some(format!(
                "connector '{connector}' has no allow_urls, so no task may compute an address"
            ));
        }
        match self.is_mongodb.or_else(|| is_mongodb(config))? {
            true => self.mongodb_objection(),
            false => self.sql_objection(),
        }
    }

    fn mongodb_objection(&self) -> Option<String> {
        if self.speaks_sql {
            let remedy = "use the mongo functions, or data_query and data_write";
            return Some(format!(
                "connector '{}' is MongoDB, which does not speak SQL: {remedy}",
                self.connector
            ));
        }
        let named = format!("connector '{}' is MongoDB, so the task must name a database", self.connector);
        (!self.names_database).then_some(named)
    }

    fn sql_objection(&self) -> Option<String> {
        let remedy = "use db_read and db_write, or data_query and data_write";
        self.speaks_mongodb.then(|| format!("connector '{}' is a SQL database: {remedy}", self.connector))
    }
}

/// Returns true if a config leads to MongoDB; `None` if it does not name its target.
fn is_mongodb(config: &Value) -> Option<bool> {
    DatabaseKind::from_connection_string(config["connection_string"].as_str()?)
        .map(|database| database == DatabaseKind::Mongo)
}

/// Returns true if a config that can be read lists no addresses that tasks may compute.
fn lacks_allowed_urls(config: &Value) -> bool {
    let is_readable = config.get("url").is_some();
    is_readable
        && match config.get("allow_urls") {
            None | Some(Value::Null) => true,
            Some(urls) => urls.as_array().is_some_and(Vec::is_empty),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn computed_address_needs_a_connector_with_allow_urls() {
        let need = |computes_address| ConnectorNeed {
            field: "tasks[0].function.input.connector".to_owned(),
            connector: "hooks".to_owned(),
            accepts: vec!["http".to_owned()],
            speaks_sql: false,
            speaks_mongodb: false,
            names_database: false,
            computes_address,
            is_mongodb: None,
            objection: None,
        };
        let lists = |urls: Value| json!({"url": "https://a.example", "allow_urls": urls});
        for lacking in [json!({"url": "https://a.example"}), lists(json!(null)), lists(json!([]))] {
            let objection = need(true).objection_to("http", &lacking);
            assert!(objection.is_some_and(|why| why.contains("has no allow_urls")), "{lacking}");
            assert_eq!(need(false).objection_to("http", &lacking), None);
        }
        assert_eq!(need(true).objection_to("http", &lists(json!(["https"]))), None);
        assert_eq!(need(true).objection_to("http", &json!(null)), None, "it cannot be read");
    }
}
