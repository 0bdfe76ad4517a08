//! The reasons why this process could not load a definition that it accepts.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_engine::CompileSecrets;
use svc_model::config::value_reference::{ValueScope, declared_value, find_value_references};
use svc_model::{FieldCode, Issue, LifecycleStatus, Timestamp, Workflow, WorkflowContent};
use svc_secrets::{Resolver as _, collect};

use crate::config::Config;
use crate::state::ServingDefinitions;

/// Returns a warning for each secret reference below a value, which is at `at`, that has no value in this process.
pub(crate) async fn list_unresolved_references(
    serving: &ServingDefinitions,
    at: &str,
    value: &Value,
) -> Vec<Issue> {
    let mut references = BTreeSet::new();
    collect(value, &mut references);
    let readings = serving.secrets.read(references.clone()).await;
    let unresolved = references.iter().filter_map(|reference| readings.resolve(reference).err());
    unresolved.map(|error| not_loadable(at, error.to_string())).collect()
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
