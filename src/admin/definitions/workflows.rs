//! The part of the admin API that only workflows have.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_api::{
    ConnectorDependency, ValidationResult, WorkflowDependencies, WorkflowResource, WorkflowTrialResult,
};
use svc_connectors::LoadState;
use svc_engine::catalogue::Catalogue;
use svc_engine::{CompileSecrets, ConnectorUse, Flow, Message, RunOptions, StubCall, Stubs, TraceOptions};
use svc_model::{
    AuditAction, EntityKind, FieldCode, FieldError, Issue, LifecycleStatus, ServiceError, Timestamp,
    ValidationReport, Workflow, WorkflowContent, parse_new_workflow, parse_workflow_update,
    validate_workflow, workflow_warnings,
};
use svc_project::rules::{check_topics, connector_need};
use svc_registry::ReloadScope;
use svc_store::{Merge, Repository, StoreError, WorkflowRequirements};

use super::admin_entity::AdminEntity;
use super::entities::not_found;
use super::loadability::{find_compile_problem, list_unresolved_references};
use crate::admin::query::QueryParameters;
use crate::admin::request_body::require_known_keys;
use crate::admin::response::data_response;
use crate::http::{AdminCaller, Error, OptionalJsonBody};
use crate::settings;
use crate::state::AppState;

/// Time limit of a trial run, which uses a thread that serves requests.
const TRY_LIMIT: Duration = Duration::from_secs(60);

impl AdminEntity for Workflow {
    type Resource = WorkflowResource;
    type Report = ValidationResult;
    const REQUIREMENTS_DEPEND_ON_CONTENT: bool = true;

    fn with_active_version(resource: Self::Resource, active_version: Option<i64>) -> Self::Resource {
        WorkflowResource { active_version, ..resource }
    }

    fn repository(state: &AppState) -> Repository<Self> {
        state.store.workflows()
    }

    fn reload_scope(id: &str) -> ReloadScope {
        ReloadScope::workflow(id)
    }

    /// Returns the connectors that the version needs.
    fn activation_requirements(state: &AppState, content: Option<&WorkflowContent>) -> WorkflowRequirements {
        let uses =
            content.map(|content| state.serving.engine.dependencies(content).connectors).unwrap_or_default();
        let connectors = state.serving.connectors.directory();
        let needs = uses.into_iter().map(|used| {
            let is_mongodb = connectors.is_mongodb(&used.connector);
            let names_topic = connectors.names_topic(&used.connector);
            connector_need(used, is_mongodb, names_topic)
        });
        WorkflowRequirements { connectors: needs.collect() }
    }

    /// Warns of connectors that are stored and not loaded: their tasks will fail.
    fn activation_warnings(state: &AppState, requirements: &WorkflowRequirements) -> Vec<Issue> {
        let statuses = state.serving.connectors.statuses();
        let idle = requirements.connectors.iter().filter_map(|need| {
            let status = statuses.iter().find(|status| *status.name == *need.connector)?;
            let why = match &status.state {
                LoadState::Loaded => return None,
                LoadState::Failed(error) => format!("connector '{}' is not loaded: {error}", need.connector),
                LoadState::Disabled => format!("connector '{}' is disabled", need.connector),
            };
            Some(Issue::new(need.field.clone(), why))
        });
        idle.collect()
    }

    fn parse_new(
        state: &AppState,
        body: &Value,
    ) -> Result<(Option<String>, WorkflowContent), Vec<FieldError>> {
        let (id, content) = parse_new_workflow(body, &*state.serving.engine)?;
        check_topics(&state.serving.engine, &content, |name| {
            state.serving.connectors.directory().names_topic(name)
        })?;
        Ok((id, content))
    }

    fn merge_update(state: &AppState, body: Value) -> Merge<WorkflowContent> {
        let (engine, connectors) =
            (state.serving.engine.clone(), state.serving.connectors.directory().clone());
        Box::new(move |current| {
            let content = parse_workflow_update(&body, current, &*engine)?;
            check_topics(&engine, &content, |name| connectors.names_topic(name))?;
            Ok(content)
        })
    }

    fn content_warnings(state: &AppState, content: &WorkflowContent) -> Vec<Issue> {
        workflow_warnings(content, &*state.serving.engine)
    }

    /// Warns of connectors that tasks name and that are not stored.
    async fn missing_definitions(
        state: &AppState,
        content: &WorkflowContent,
    ) -> Result<Vec<Issue>, StoreError> {
        let uses = state.serving.engine.dependencies(content).connectors;
        if uses.is_empty() {
            return Ok(Vec::new());
        }
        let stored = state.store.connectors().all().await?;
        let missing =
            uses.into_iter().filter(|one| stored.iter().all(|row| row.content.name != one.connector));
        let warn = |one: ConnectorUse| {
            Issue::new(one.path, format!("connector '{}' is not in the registry", one.connector))
        };
        Ok(missing.map(warn).collect())
    }

    /// Validates a create body, and warns of missing connectors, which only activation needs.
    async fn validate(state: &AppState, body: &Value) -> Result<ValidationReport, StoreError> {
        let mut report = validate_workflow(body, &*state.serving.engine);
        match Self::parse_new(state, body) {
            Ok((id, content)) => {
                report.warnings.extend(Self::missing_definitions(state, &content).await?);
                let tasks = content.tasks.iter().enumerate();
                let tasks: Vec<_> = tasks.map(|(n, task)| (format!("tasks[{n}]"), task)).collect();
                let unresolved = list_unresolved_references(&state.serving, &tasks).await.into_iter();
                // The workflow is loaded, and the task fails in each run.
                report.warnings.extend(unresolved.map(|issue| Issue::new(issue.field, issue.message)));
                // What the check of the document has found already says it better.
                if report.warnings.iter().all(|issue| issue.code != Some(FieldCode::NotLoadable)) {
                    report.warnings.extend(find_compile_problem(&state.serving, id, content).await);
                }
            }
            Err(errors) if report.errors.is_empty() => {
                report.errors.extend(errors.into_iter().map(Issue::from));
            }
            Err(_) => {}
        }
        Ok(report)
    }

    fn to_report(report: ValidationReport, _: &Value) -> ValidationResult {
        report.into()
    }
}

/// `GET /workflows/{id}/dependencies`.
pub(crate) async fn dependencies(state: Data<AppState>, id: Path<String>) -> Result<HttpResponse, Error> {
    let workflow = state.store.workflows().latest(&id).await?.ok_or_else(|| not_found::<Workflow>(&id))?;
    let dependencies = state.serving.engine.dependencies(&workflow.content);
    // Lists each pair once.
    let mut connectors: Vec<ConnectorDependency> = Vec::new();
    for one in dependencies.connectors {
        let used = ConnectorDependency { connector: one.connector, function: one.function };
        if !connectors.contains(&used) {
            connectors.push(used);
        }
    }
    Ok(data_response(WorkflowDependencies {
        workflow_id: workflow.workflow_id,
        version: workflow.version,
        connectors,
        channels: dependencies.channels,
        has_dynamic_channel_calls: dependencies.has_dynamic_channel_calls,
    }))
}

/// `POST /workflows/{id}/test`: runs the latest version, or a definition that is not stored, once and shows every step.
/// Connectors and channels are called for real, which the answer says, unless stubs answer for them.
pub(crate) async fn test(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: OptionalJsonBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let stored = state.store.workflows().latest(&id).await?;
    let Trial { payload, metadata, stubs, definition } =
        parse_trial(state.serving.engine.catalogue(), body.0)?;
    let workflow = match definition {
        None => stored.ok_or_else(|| not_found::<Workflow>(&id))?,
        Some(definition) => apply_definition(&state, &id, stored, &definition)?,
    };
    let references = state.serving.secrets.read(svc_engine::secret_uses(&workflow.content).references).await;
    let material =
        CompileSecrets { references: &references, declared: &state.serving.engine.declared_secrets() };
    let compiled = match &stubs {
        Some(_) => state.serving.engine.compile_stubbed(&workflow, material),
        None => state.serving.engine.compile(&workflow, material),
    };
    let compiled = compiled.map_err(|error| ServiceError::validation(error.to_string()))?;
    // Recorded before it starts: whatever the run does, somebody asked for it.
    state.store.audit().record(caller.audit(AuditAction::Test, EntityKind::Workflow, &id)).await?;
    state.metrics.record_audit_event(AuditAction::Test, EntityKind::Workflow);
    let snapshot_bytes = settings::max_result_bytes(&state.config).unwrap_or(usize::MAX);
    let options = RunOptions {
        deadline: Some(TRY_LIMIT),
        trace: Some(TraceOptions { snapshot_bytes, input: false }),
        capture_changes: true,
        stubs: stubs.clone().unwrap_or_default(),
        ..RunOptions::default()
    };
    let outcome =
        state.serving.engine.run(&Flow::single(compiled), Message::new(payload, metadata), options).await;
    Ok(data_response(WorkflowTrialResult {
        matched: outcome.matched,
        trace: serde_json::to_value(outcome.trace).map_err(ServiceError::internal_error)?,
        output: outcome.message.data,
        errors: outcome.errors.iter().map(|error| json!(error)).collect(),
        live: stubs.is_none(),
        calls: stubs.is_some().then(|| StubCall::by_function(&outcome.calls)),
        error: outcome.failure.map(|failure| failure.error.message),
    }))
}

/// The input of a trial.
struct Trial {
    payload: Value,
    metadata: Map<String, Value>,
    /// Answers in place of connectors and channels; without them they are called for real.
    stubs: Option<Stubs>,
    /// A definition that is not stored, to run in place of the latest version.
    definition: Option<Value>,
}

/// Returns a workflow as a create, or a change of the stored one, would leave it.
fn apply_definition(
    state: &AppState,
    id: &str,
    stored: Option<Workflow>,
    definition: &Value,
) -> Result<Workflow, ServiceError> {
    let engine = &*state.serving.engine;
    let Some(workflow) = stored else {
        let (_, content) = <Workflow as AdminEntity>::parse_new(state, definition)?;
        let now = Timestamp::now();
        return Ok(Workflow {
            workflow_id: id.to_owned(),
            version: 1,
            content,
            status: LifecycleStatus::Draft,
            rollout_percentage: 100,
            created_at: now,
            updated_at: now,
        });
    };
    let content = parse_workflow_update(definition, &workflow.content, engine)?;
    check_topics(engine, &content, |name| state.serving.connectors.directory().names_topic(name))?;
    Ok(Workflow { content, ..workflow })
}

/// `{"data": any, "metadata"?: object, "stubs"?: object, "workflow"?: object}`.
fn parse_trial(catalogue: &Catalogue, body: Value) -> Result<Trial, ServiceError> {
    let mut body = require_known_keys(&body, &["data", "metadata", "stubs", "workflow"])?.clone();
    let metadata = match body.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(other) => return Err(FieldError::type_mismatch("body.metadata", "object", &other).into()),
    };
    let stubs = match body.remove("stubs") {
        None | Some(Value::Null) => None,
        Some(stubs) => Some(Stubs::parse(catalogue, &stubs, "body.stubs")?),
    };
    let definition = body.remove("workflow").filter(|definition| !definition.is_null());
    Ok(Trial { payload: body.remove("data").unwrap_or_else(|| json!({})), metadata, stubs, definition })
}
