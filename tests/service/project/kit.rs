//! A small project that holds together, to be changed.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use svc::engine::Engine;
use svc_project::{Boundary, Finding, LintSummary, Project, SetForm, Severity, SourceFile, SourceFormat};

/// The engine of all tests: building one takes longer than linting.
pub(crate) static ENGINE: LazyLock<Arc<Engine>> =
    LazyLock::new(|| Arc::new(svc::offline::engine_builder().build()));

/// The files of a project.
#[derive(Clone, Debug)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Value>);

pub(crate) const WORKFLOW: &str = "workflows/orders.json";
pub(crate) const CHANNEL: &str = "channels/orders.json";
pub(crate) const CONNECTOR: &str = "connectors/shop.json";
pub(crate) const SHARED: &str = "shared/common.json";

impl Default for Files {
    /// A connector, a workflow over it, its channel and shared definitions, without a fault.
    fn default() -> Self {
        let files = [
            (
                CONNECTOR,
                json!({"name": "shop", "connector_type": "db", "config": {"connection_string": "sqlite:shop.db"}}),
            ),
            (WORKFLOW, json!({"workflow_id": "orders", "name": "Orders", "tasks": [read("read")]})),
            (CHANNEL, channel("orders")),
            (
                SHARED,
                json!({"constants": {"shop": {"connector": "shop", "query": "SELECT 1", "output": "data.rows"}},
                "fragments": {"note": {"params": {"why": {"default": "late"}}, "tasks": [note("n", &json!({"$param": "why"}))]}}}),
            ),
        ];
        Self(files.map(|(name, document)| (name.to_owned(), document)).into())
    }
}

/// Returns a channel of this name, at a route of this name, for the workflow `orders`.
pub(crate) fn channel(name: &str) -> Value {
    json!({"channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["GET"],
        "route_pattern": format!("/{name}"), "workflow_id": "orders"})
}

/// Returns a channel of this name that runs every hour.
pub(crate) fn schedule(name: &str, concurrency: &Value) -> Value {
    json!({"channel_id": name, "name": name, "channel_type": "async", "protocol": "cron", "workflow_id": "orders",
        "transport_config": {"schedule": "@hourly", "concurrency": concurrency}})
}

/// Returns a task that reads from the connector `shop`.
pub(crate) fn read(id: &str) -> Value {
    let input = json!({"connector": "shop", "query": "SELECT 1", "output": "data.rows"});
    json!({"id": id, "name": "Read", "function": {"name": "db_read", "input": input}})
}

/// Returns a task that writes `data.note`.
pub(crate) fn note(id: &str, logic: &Value) -> Value {
    let input = json!({"mappings": [{"path": "data.note", "logic": logic}]});
    json!({"id": id, "name": "Note", "function": {"name": "map", "input": input}})
}

/// Returns a task of this function.
pub(crate) fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

impl Files {
    /// Replaces or adds a file.
    pub(crate) fn file(mut self, name: &str, document: Value) -> Self {
        self.0.insert(name.to_owned(), document);
        self
    }

    /// Sets a member by its JSON pointer.
    pub(crate) fn set(mut self, name: &str, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = self.0.get_mut(name).unwrap().pointer_mut(parent).unwrap();
        parent[key] = value;
        self
    }

    /// Removes a member of a document.
    pub(crate) fn without(mut self, name: &str, key: &str) -> Self {
        self.0.get_mut(name).unwrap().as_object_mut().unwrap().shift_remove(key).unwrap();
        self
    }

    /// Replaces the tasks of the workflow.
    pub(crate) fn tasks(self, tasks: Value) -> Self {
        self.set(WORKFLOW, "/tasks", tasks)
    }

    pub(crate) fn project(&self) -> Project {
        let source = |(name, document): (&String, &Value)| Arc::new(source(name, &format!("{document:#}")));
        Project::read(self.0.iter().map(source).collect())
    }

    pub(crate) fn lint(&self, form: SetForm) -> (Vec<Finding>, LintSummary) {
        let project = self.project();
        let linted = svc_project::lint(&project, &ENGINE, &Boundary::default(), form);
        (linted.findings, linted.summary)
    }
}

pub(crate) fn source(name: &str, text: &str) -> SourceFile {
    SourceFile::parse(name, SourceFormat::Json, text.to_owned()).unwrap()
}

/// Returns the ids of the findings that are no notes.
pub(crate) fn ids(findings: &[Finding]) -> Vec<&'static str> {
    let weighty = findings.iter().filter(|finding| finding.severity != Severity::Note);
    weighty.map(|finding| finding.check).collect()
}
