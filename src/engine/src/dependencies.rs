//! What a workflow reaches outside itself: connectors and channels, read off the document.

use serde_json::Value;
use svc_model::WorkflowContent;

use crate::catalogue;

/// A connector that a task names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorUse {
    /// Path of the field that names it, such as `tasks[2].function.input.connector`.
    pub path: String,
    /// Name of the connector.
    pub connector: String,
    /// The task's function.
    pub function: String,
    /// Connector types the function works with.
    pub accepts: &'static [&'static str],
    /// Whether the function speaks SQL to its database, and nothing else.
    pub speaks_sql: bool,
    /// Whether the function speaks to MongoDB, and to nothing else.
    pub speaks_mongodb: bool,
    /// Whether the task names a `database`.
    pub names_database: bool,
    /// True for a task that publishes records and leaves the topic to the connector.
    pub needs_topic: bool,
}

/// Everything a workflow reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Connectors, in the order of the tasks.
    pub connectors: Vec<ConnectorUse>,
    /// Names of called channels, each once, in the order of the tasks.
    pub channels: Vec<String>,
    /// Whether a called channel is chosen at run time, so that `channels` cannot be complete.
    pub has_dynamic_channel_calls: bool,
}

/// Reads the dependencies off a document; tasks that cannot be read are passed over.
pub fn dependencies(content: &WorkflowContent) -> Dependencies {
    let mut found = Dependencies::default();
    steps(&content.tasks, "tasks", &mut found);
    found
}

fn steps(tasks: &[Value], path: &str, found: &mut Dependencies) {
    for (index, step) in tasks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if let Some(members) = step.get("tasks").and_then(Value::as_array) {
            steps(members, &format!("{path}.tasks"), found);
        } else if let Some(name) = step["function"]["name"].as_str() {
            task(name, &step["function"]["input"], &path, found);
        }
    }
}

fn task(function: &str, input: &Value, path: &str, found: &mut Dependencies) {
    if function == "channel_call" {
        match input["channel"].as_str() {
            Some(channel) if input.get("channel_logic").is_none() => {
                if !found.channels.iter().any(|known| known == channel) {
                    found.channels.push(channel.to_owned());
                }
            }
            _ => found.has_dynamic_channel_calls = true,
        }
    }
    let takes_connector = catalogue::find(function).is_some_and(|entry| entry.field("connector").is_some());
    if let (true, Some(connector)) = (takes_connector, input["connector"].as_str()) {
        found.connectors.push(ConnectorUse {
            path: format!("{path}.function.input.connector"),
            connector: connector.to_owned(),
            function: function.to_owned(),
            accepts: accepts(function),
            speaks_sql: matches!(function, "db_read" | "db_write"),
            speaks_mongodb: function.starts_with("mongo_"),
            names_database: input["database"].as_str().is_some_and(|name| !name.is_empty()),
            needs_topic: function == "publish_kafka" && input["topic"].is_null(),
        });
    }
}

fn accepts(function: &str) -> &'static [&'static str] {
    match function {
        "cache_read" | "cache_write" => &["cache"],
        "data_query" | "data_write" => &["db", "es"],
        "http_call" => &["http"],
        "publish_kafka" => &["kafka"],
        "send_email" => &["smtp"],
        "storage_head" | "storage_presign" => &["storage"],
        _ => &["db"],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn connectors_and_channels_are_found_at_every_depth() {
        let tasks = json!([
            {"id": "a", "function": {"name": "http_call", "input": {"connector": "crm"}}},
            {"id": "g", "tasks": [
                {"id": "b", "function": {"name": "mongo_read", "input": {"connector": "docs", "database": "d"}}},
                {"id": "c", "function": {"name": "channel_call", "input": {"channel": "audit"}}},
                {"id": "d", "function": {"name": "channel_call", "input": {"channel": "audit"}}},
                {"id": "e", "function": {"name": "channel_call", "input": {"channel_logic": {"var": "data.c"}}}}
            ]},
            {"id": "f", "function": {"name": "map", "input": {"connector": "none of its inputs"}}},
            {"id": "k", "function": {"name": "publish_kafka", "input": {"connector": "events"}}},
            {"id": "l", "function": {"name": "publish_kafka", "input": {"connector": "events", "topic": "t"}}}
        ]);
        let content = WorkflowContent {
            name: String::new(),
            description: None,
            priority: 0,
            condition: json!(true),
            tasks: tasks.as_array().unwrap().clone(),
            tags: Vec::new(),
            loop_: None,
            continue_on_error: false,
        };
        let found = dependencies(&content);
        let connectors: Vec<_> = found
            .connectors
            .iter()
            .map(|one| (one.path.as_str(), one.connector.as_str(), one.accepts))
            .collect();
        assert_eq!(
            connectors,
            [
                ("tasks[0].function.input.connector", "crm", &["http"][..]),
                ("tasks[1].tasks[0].function.input.connector", "docs", &["db"][..]),
                ("tasks[3].function.input.connector", "events", &["kafka"][..]),
                ("tasks[4].function.input.connector", "events", &["kafka"][..]),
            ]
        );
        let docs = &found.connectors[1];
        assert!(docs.names_database && docs.speaks_mongodb && !docs.speaks_sql);
        let topics: Vec<_> = found.connectors.iter().map(|one| one.needs_topic).collect();
        assert_eq!(topics, [false, false, true, false]);
        assert_eq!((found.channels, found.has_dynamic_channel_calls), (vec!["audit".to_owned()], true));
    }
}
