//! The checks of stored definitions: pure, over what was read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use svc_engine::{CompileSecrets, DeclaredSecrets, Engine};
use svc_model::config::auth::ConsumerSelection;
use svc_model::documents::STEP_LISTS;
use svc_model::mask::CREDENTIAL_BLOCKS;
use svc_model::{
    Channel, ChannelChecks, ChannelConfig, Connector, FieldCode, Issue, LifecycleStatus, Timestamp, Workflow,
    is_unreadable, validate_channel, validate_workflow,
};
use svc_project::{Finding, Severity};
use svc_secrets::{Readings, Reference, Resolver as _};
use svc_store::inspect::StoredDefinitions;

/// The remedy for a reference that has no value.
pub(in crate::commands) const ABSENT_SECRET_REMEDY: &str =
    "give the reference a value where the server runs, or name another one";

/// A channel's config, or the settings of its transport, cannot be read.
const CONFIG: &str = "3";
/// A task of the portable dialect names no schema, which its connector requires.
const DIALECT_SCHEMA: &str = "14";
/// Two channels have one name.
const CHANNEL_NAMES: &str = "channel-names";
/// A channel that a create request would not take.
const CHANNEL_FIELDS: &str = "channel-fields";
/// A workflow that a create request would not take.
const WORKFLOW_TASKS: &str = "workflow-tasks";
/// An object of a workflow that was data and is the call of an operator.
const OPERATORS: &str = "operators";
/// A secret reference that nothing resolves, or that has no value now.
const SECRET_REFERENCES: &str = "secret-references";

/// A channel accepts a consumer that does not exist.
const UNKNOWN_CONSUMERS: &str = "unknown-consumers";

/// The functions whose documents name entities of a schema.
const DIALECT_FUNCTIONS: [&str; 2] = ["data_query", "data_write"];

/// The rules that stored definitions are checked against.
pub(super) struct Checks<'c> {
    pub(super) engine: &'c Engine,
    pub(super) channel_rules: &'c dyn ChannelChecks,
    /// The values of the references of what may serve.
    pub(super) readings: &'c Readings,
    /// The names of `[secrets]`.
    pub(super) declared: BTreeSet<String>,
    /// The instant from which on definitions were stored by programs that have every operator; `None` if it is to come.
    pub(super) upgraded_at: Option<Timestamp>,
}

/// Returns `true` for a status under which a definition serves, or can come to serve.
pub(super) fn may_serve(status: LifecycleStatus) -> bool {
    status != LifecycleStatus::Archived
}

impl Checks<'_> {
    /// Returns the findings, those of workflows first.
    pub(super) fn run(&self, stored: &StoredDefinitions) -> Vec<Finding> {
        let strict = strict_connectors(&stored.connectors);
        let workflows = stored.workflows.iter().flat_map(|workflow| self.workflow(workflow, &strict));
        let channels = stored.channels.iter().flat_map(|channel| self.channel(channel));
        let findings = workflows.chain(channels).chain(shared_names(&stored.channels));
        findings.chain(unknown_consumers(stored)).collect()
    }

    fn workflow(&self, workflow: &Workflow, strict: &BTreeSet<&str>) -> Vec<Finding> {
        let entity = format!("workflow '{}' version {}", workflow.workflow_id, workflow.version);
        let report = validate_workflow(&workflow.content.hashable(), self.engine);
        let mut findings: Vec<_> =
            report.errors.iter().map(|issue| refusal(WORKFLOW_TASKS, &entity, issue)).collect();
        let mut references = BTreeSet::new();
        references.extend(svc_engine::secret_uses(&workflow.content).references);
        if may_serve(workflow.status) {
            findings.extend(self.unresolved_findings(&entity, &references));
            findings.extend(self.added_calls(&entity, workflow));
        }
        if findings.is_empty() && may_serve(workflow.status) {
            findings.extend(self.does_not_load(&entity, workflow));
        }
        for (path, steps) in workflow.content.step_lists() {
            findings.extend(missing_schemas(&entity, path, steps, strict));
        }
        findings
    }

    /// Reports what became a call, in a workflow of before.
    fn added_calls(&self, entity: &str, workflow: &Workflow) -> Vec<Finding> {
        if self.upgraded_at.is_some_and(|upgraded_at| workflow.updated_at >= upgraded_at) {
            return Vec::new();
        }
        let fix =
            "store a version that has another key here, or a second one; if the call is meant, store it anew";
        let calls = self.engine.added_calls(&workflow.content).into_iter();
        let report = |call: Issue| format!("{}: {}", call.field, call.message);
        calls.map(|call| finding(OPERATORS, entity, report(call), fix)).collect()
    }

    /// Reports what shows only when a workflow is made to run, such as a secret that `[secrets]` does not declare.
    fn does_not_load(&self, entity: &str, workflow: &Workflow) -> Option<Finding> {
        let declared: DeclaredSecrets =
            self.declared.iter().map(|name| (name.as_str(), Value::from(""))).collect();
        let secrets = CompileSecrets { references: self.readings, declared: &declared };
        let error = self.engine.compile(workflow, secrets).err()?;
        let fix = "store a corrected version, or give this node the settings that it needs";
        Some(finding(WORKFLOW_TASKS, entity, format!("cannot be loaded: {error}"), fix))
    }

    fn channel(&self, channel: &Channel) -> Vec<Finding> {
        let content = &channel.content;
        let entity = format!("channel '{}' version {}", content.name, channel.version);
        for (field, value) in [("config", &content.config), ("transport_config", &content.transport_config)] {
            if is_unreadable(value) {
                let message = format!("channel.{field}: the stored text is no JSON");
                return vec![finding(CONFIG, &entity, message, "store a new version of the channel")];
            }
        }
        let report = validate_channel(&content.hashable(), self.channel_rules);
        let row = |issue: &Issue| match issue.field.split('.').nth(1) {
            Some("config" | "transport_config") => CONFIG,
            _ => CHANNEL_FIELDS,
        };
        let mut findings: Vec<_> =
            report.errors.iter().map(|issue| refusal(row(issue), &entity, issue)).collect();
        if may_serve(channel.status) {
            let mut references = BTreeSet::new();
            for block in CREDENTIAL_BLOCKS {
                svc_secrets::collect(&content.config[block], &mut references);
            }
            findings.extend(self.unresolved_findings(&entity, &references));
        }
        findings
    }

    /// Reports references that have no value on this machine, now.
    fn unresolved_findings(&self, entity: &str, references: &BTreeSet<Reference>) -> Vec<Finding> {
        let failed = references.iter().filter_map(|reference| self.readings.resolve(reference).err());
        failed
            .map(|error| finding(SECRET_REFERENCES, entity, error.to_string(), ABSENT_SECRET_REMEDY))
            .collect()
    }
}

fn finding(check: &'static str, entity: &str, message: String, fix: &str) -> Finding {
    let (entity, fix) = (entity.to_owned(), Some(fix.to_owned()));
    Finding { severity: Severity::Error, check, entity, message, fix, place: None }
}

/// Reports a problem for which a create request is refused.
fn refusal(row: &'static str, entity: &str, issue: &Issue) -> Finding {
    let (row, fix) = match issue.code {
        Some(FieldCode::UnresolvedSecretRef) => (
            SECRET_REFERENCES,
            "store a version that names the secret in a field that resolves it, or reads it with {\"secret\": name}",
        ),
        Some(FieldCode::UnknownField) => (row, "store a version without this key, or with its right name"),
        _ => (row, "store a corrected version and activate it"),
    };
    finding(row, entity, format!("{}: {}", issue.field, issue.message), fix)
}

/// Reports each name that several channels have.
fn shared_names(channels: &[Channel]) -> Vec<Finding> {
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for channel in channels {
        ids.entry(&channel.content.name).or_default().push(&channel.channel_id);
    }
    let shared = ids.into_iter().filter(|(_, ids)| ids.len() > 1);
    let report = |(name, ids): (&str, Vec<&str>)| {
        let message = format!("the name belongs to the channels {}", ids.join(", "));
        let fix = "rename or delete all but one of them";
        finding(CHANNEL_NAMES, &format!("channel '{name}'"), message, fix)
    };
    shared.map(report).collect()
}

/// Reports the channels that accept consumers which do not exist. They serve, and refuse these consumers.
fn unknown_consumers(stored: &StoredDefinitions) -> Vec<Finding> {
    let names: BTreeSet<&str> = stored.consumers.iter().map(|consumer| consumer.name.as_str()).collect();
    let tags: BTreeSet<&str> =
        stored.consumers.iter().flat_map(|consumer| &consumer.tags).map(String::as_str).collect();
    let mut findings = Vec::new();
    for channel in stored.channels.iter().filter(|channel| may_serve(channel.status)) {
        let auth = ChannelConfig::parse(&channel.content.config).ok().and_then(|config| config.auth);
        let Some(selection) = auth.as_ref().and_then(|auth| auth.consumers()) else { continue };
        let (what, words, known) = match selection {
            ConsumerSelection::Names(listed) => ("no consumer is named", listed, &names),
            ConsumerSelection::Tags(listed) => ("no consumer has the tag", listed, &tags),
        };
        let unknown: Vec<_> = words.iter().map(String::as_str).filter(|word| !known.contains(word)).collect();
        if !unknown.is_empty() {
            let entity = format!("channel '{}' version {}", channel.content.name, channel.version);
            let message = format!("channel.config.auth.consumers: {what} {}", unknown.join(", "));
            let fix = "create the consumers; until then their requests get 401";
            let finding = finding(UNKNOWN_CONSUMERS, &entity, message, fix);
            findings.push(Finding { severity: Severity::Warning, ..finding });
        }
    }
    findings
}

/// Returns the names of the connectors that require a schema of the documents of the dialect.
fn strict_connectors(connectors: &[Connector]) -> BTreeSet<&str> {
    let requires = |connector: &&Connector| {
        connector.content.config.pointer("/dialect/require_schema").and_then(Value::as_bool) == Some(true)
    };
    connectors.iter().filter(requires).map(|connector| connector.content.name.as_str()).collect()
}

/// Reports the tasks, at any depth, that name no schema and must.
fn missing_schemas(entity: &str, path: &str, tasks: &[Value], strict: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_task(path, tasks, &mut |path, task| {
        let function = task.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        let input = task.pointer("/function/input").unwrap_or(&Value::Null);
        let connector = input["connector"].as_str().unwrap_or_default();
        if DIALECT_FUNCTIONS.contains(&function) && strict.contains(connector) && input["schema"].is_null() {
            let message =
                format!("{path}.function.input.schema: connector '{connector}' has dialect.require_schema");
            let fix = "declare the entities of the task in its input schema";
            findings.push(finding(DIALECT_SCHEMA, entity, message, fix));
        }
    });
    findings
}

fn each_task(path: &str, tasks: &[Value], visit: &mut dyn FnMut(&str, &Value)) {
    for (index, task) in tasks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        visit(&path, task);
        for key in STEP_LISTS {
            if let Some(Value::Array(inner)) = task.get(key) {
                each_task(&format!("{path}.{key}"), inner, visit);
            }
        }
    }
}
