//! Backtests: a version of a workflow over stored recordings. They are of one node, which the answer to the start names.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value};
use svc_api::{BacktestDetail, BacktestStarted, DataEnvelope};
use svc_model::{
    AuditAction, EntityKind, FieldError, LifecycleStatus, ServiceError, Workflow, nearest, unknown_keys,
};
use svc_project::OfflineWorkflow;
use svc_project::backtest::BacktestOptions;
use svc_store::RecordingFilter;

use super::require_full_access;
use crate::admin::nodes::require_node;
use crate::admin::query::QueryParameters;
use crate::admin::request_body::{read_instant, require_known_keys};
use crate::admin::response::data_response;
use crate::backtests::{BacktestOrder, NodeBacktest};
use crate::http::{AdminCaller, Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// Recorded runs of a backtest that names no limit, and the most that one may have.
const DEFAULT_LIMIT: u64 = 1000;
const MOST: u64 = 100_000;

/// Words of the filter.
const WORDS: [&str; 6] = ["channel", "run_key", "version", "outcome", "since", "until"];

/// The body of `POST /workflows/{id}/backtest`.
struct BacktestTerms {
    /// The number of the version; `None` for the draft.
    version: Option<i64>,
    filter: RecordingFilter,
    limit: u64,
    ignore: Vec<String>,
}

/// `POST /workflows/{id}/backtest`: starts a backtest on this node.
pub(in crate::admin) async fn start(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: JsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    let BacktestTerms { version, filter, limit, ignore } = read_request(&id, &body.0)?;
    let workflow = find_version(&state, &id, version).await?;
    let engine = svc_toolkit::offline::engine_builder().build();
    let offline = OfflineWorkflow::from_stored(&engine, &workflow).map_err(ServiceError::from)?;
    // Recorded before it starts: whatever it reads, somebody asked for it.
    state.store.audit().record(caller.audit(AuditAction::Test, EntityKind::Workflow, &id)).await?;
    state.metrics.record_audit_event(AuditAction::Test, EntityKind::Workflow);
    let order = BacktestOrder {
        workflow_id: workflow.workflow_id,
        version: workflow.version,
        workflow: offline,
        filter,
        limit,
        options: BacktestOptions { ignore },
        started_by: caller.principal.name().to_owned(),
    };
    let started = state.work.backtests.start(order, state.store.recordings())?;
    let answer = BacktestStarted { id: started.id.clone(), node: state.work.nodes.id().to_string() };
    Ok(HttpResponse::Accepted().json(DataEnvelope { data: answer }))
}

/// `GET /backtests/{id}`: the progress of a backtest of this node, and its report.
pub(in crate::admin) async fn read(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    require_full_access(&caller)?;
    require_node(&state, &query)?;
    let backtest = find(&state, &id)?;
    Ok(data_response(to_detail(&backtest)))
}

/// `POST /backtests/{id}/abort`: ends a backtest before its next run. The report of those so far is kept.
pub(in crate::admin) async fn abort(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    require_node(&state, &query)?;
    let backtest = find(&state, &id)?;
    let workflow = backtest.workflow_id.as_str();
    state.store.audit().record(caller.audit(AuditAction::Abort, EntityKind::Workflow, workflow)).await?;
    state.metrics.record_audit_event(AuditAction::Abort, EntityKind::Workflow);
    backtest.abort();
    Ok(data_response(to_detail(&backtest)))
}

fn find(state: &AppState, id: &str) -> Result<Arc<NodeBacktest>, ServiceError> {
    let known = state.work.backtests.find(id);
    known.ok_or_else(|| ServiceError::not_found(format!("backtest '{id}' does not exist on this node")))
}

/// Returns a version of a workflow, or its draft.
async fn find_version(state: &AppState, id: &str, version: Option<i64>) -> Result<Workflow, ServiceError> {
    let workflows = state.store.workflows();
    let found = match version {
        Some(version) => workflows.version(id, version).await?,
        None => workflows.latest(id).await?.filter(|latest| latest.status == LifecycleStatus::Draft),
    };
    found.ok_or_else(|| {
        let what = version.map_or_else(|| "draft".to_owned(), |version| format!("version {version}"));
        ServiceError::not_found(format!("workflow '{id}' has no {what}"))
    })
}

fn read_request(id: &str, body: &Value) -> Result<BacktestTerms, ServiceError> {
    let members = require_known_keys(body, &["version", "filter", "limit", "ignore"])?;
    let version = match members.get("version") {
        None | Some(Value::Null) => None,
        Some(Value::String(word)) if word == "draft" => None,
        Some(Value::Number(number)) if number.as_i64().is_some_and(|number| number > 0) => number.as_i64(),
        Some(other) => {
            return Err(FieldError::type_mismatch("body.version", "\"draft\" or a number", other).into());
        }
    };
    let limit = match members.get("limit") {
        None | Some(Value::Null) => DEFAULT_LIMIT,
        Some(limit) => limit
            .as_u64()
            .filter(|limit| (1..=MOST).contains(limit))
            .ok_or_else(|| FieldError::invalid("body.limit", format!("must be between 1 and {MOST}")))?,
    };
    let filter = match members.get("filter") {
        None | Some(Value::Null) => RecordingFilter::default(),
        Some(Value::Object(words)) => read_filter(words)?,
        Some(other) => return Err(FieldError::type_mismatch("body.filter", "object", other).into()),
    };
    let filter = RecordingFilter { workflow: Some(id.to_owned()), ..filter };
    Ok(BacktestTerms { version, filter, limit, ignore: read_ignored(members)? })
}

fn read_filter(words: &Map<String, Value>) -> Result<RecordingFilter, ServiceError> {
    let unknown = unknown_keys(words, "body.filter", &WORDS, &[]);
    if !unknown.is_empty() {
        return Err(unknown.into());
    }
    let text = |word: &str| match words.get(word) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(FieldError::type_mismatch(format!("body.filter.{word}"), "string", other)),
    };
    let version = match words.get("version") {
        None | Some(Value::Null) => None,
        Some(number) => Some(
            number
                .as_i64()
                .ok_or_else(|| FieldError::type_mismatch("body.filter.version", "integer", number))?,
        ),
    };
    Ok(RecordingFilter {
        channel: text("channel")?,
        run_key: text("run_key")?,
        workflow: None,
        version,
        outcome: text("outcome")?,
        since: read_instant(words, "since")?,
        until: read_instant(words, "until")?,
    })
}

fn read_ignored(members: &Map<String, Value>) -> Result<Vec<String>, ServiceError> {
    let Some(list) = members.get("ignore").filter(|list| !list.is_null()) else { return Ok(Vec::new()) };
    let paths = list.as_array().and_then(|paths| {
        paths.iter().map(|path| path.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    let paths = paths.ok_or_else(|| FieldError::type_mismatch("body.ignore", "array of strings", list))?;
    for path in &paths {
        let root = path.split('.').next().unwrap_or_default();
        if !["data", "input"].contains(&root) {
            let hint = nearest(root, ["data", "input"])
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let why = format!("a path begins with data or input{hint}");
            return Err(FieldError::invalid("body.ignore", why).into());
        }
    }
    Ok(paths)
}

fn to_detail(backtest: &NodeBacktest) -> BacktestDetail {
    let progress = backtest.progress();
    BacktestDetail {
        id: backtest.id.clone(),
        workflow_id: backtest.workflow_id.clone(),
        version: backtest.version,
        state: progress.state.name().to_owned(),
        limit: backtest.limit,
        done: progress.done,
        report: progress.report,
        reason: progress.reason,
        started_by: backtest.started_by.clone(),
        started_at: backtest.started_at,
        ended_at: progress.ended_at,
    }
}
