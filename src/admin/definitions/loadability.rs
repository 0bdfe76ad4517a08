//! The reasons why this process could not load a definition that it accepts.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_engine::CompileSecrets;
use svc_model::config::value_reference::{ValueScope, declared_value, find_value_references};
use svc_model::{FieldCode, Issue, LifecycleStatus, Timestamp, Workflow, WorkflowContent};
use svc_secrets::{ReferenceError, Resolver as _, collect, parse};

use crate::config::Config;
use crate::state::ServingDefinitions;

/// Returns a warning for each secret reference below these values, which are at their places, that has no value in this
/// process, and for those that no process resolves.
pub(crate) async fn list_unresolved_references(
    serving: &ServingDefinitions,
    values: &[(String, &Value)],
) -> Vec<Issue> {
    let mut references = BTreeSet::new();
    values.iter().for_each(|(_, value)| collect(value, &mut references));
    // A store that does not answer is waited for once.
    let readings = serving.secrets.read(references).await;
    let mut issues = Vec::new();
    for (at, value) in values {
        let mut references = BTreeSet::new();
        collect(value, &mut references);
        let unresolved = references.iter().filter_map(|reference| readings.resolve(reference).err());
        let mut reasons: BTreeSet<String> = unresolved.map(|error| error.to_string()).collect();
        add_unresolvable(value, &mut reasons);
        issues.extend(reasons.into_iter().map(|reason| not_loadable(at, reason)));
    }
    issues
}

/// Adds the reasons why texts that begin like a reference are none. The texts are not repeated: one may be a secret.
fn add_unresolvable(value: &Value, reasons: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let reason = match parse(text) {
                Err(ReferenceError::Reserved { scheme }) => {
                    format!("{scheme}:// is reserved and cannot be resolved")
                }
                Err(ReferenceError::Vault { .. }) => "expected vault://<path>#<field>".to_owned(),
                // A check of the text warns of the others.
                _ => return,
            };
            reasons.insert(reason);
        }
        Value::Array(items) => items.iter().for_each(|item| add_unresolvable(item, reasons)),
        Value::Object(members) => members.values().for_each(|member| add_unresolvable(member, reasons)),
        _ => {}
    }
}

/// Returns a warning for each reference of a channel to a value that is not declared in this process.
pub(crate) fn list_undeclared_values(config: &Config, channel: &Value) -> Vec<Issue> {
    let parts = [
        (ValueScope::ChannelConfig, channel.get("config")),
        (ValueScope::ChannelTransport, channel.get("transport_config")),
    ];
    let references = parts.into_iter().filter_map(|(scope, part)| Some(find_value_references(scope, part?)));
    let problems = references.flatten().filter_map(|reference| {
        let problem = declared_value(&reference, Some(&config.vars.0)).err()?;
        Some(not_loadable(&problem.path, problem.message))
    });
    problems.collect()
}

/// Returns the warning about a workflow that this process accepts and could not compile for serving.
pub(crate) async fn find_compile_problem(
    serving: &ServingDefinitions,
    id: Option<String>,
    content: WorkflowContent,
) -> Option<Issue> {
    let references = serving.secrets.read(svc_engine::secret_uses(&content).references).await;
    let now = Timestamp::now();
    let row = Workflow {
        workflow_id: id.unwrap_or_else(|| "new".to_owned()),
        version: 1,
        content,
        status: LifecycleStatus::Draft,
        rollout_percentage: 100,
        created_at: now,
        updated_at: now,
    };
    let material = CompileSecrets { references: &references, declared: &serving.engine.declared_secrets() };
    let error = serving.engine.compile(&row, material).err()?;
    Some(not_loadable("(root)", format!("it would not load: {error}")))
}

fn not_loadable(field: &str, message: String) -> Issue {
    Issue::new(field, message).with_code(FieldCode::NotLoadable)
}
