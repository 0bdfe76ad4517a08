//! Backtests: a version of a workflow or of a channel over stored recordings.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_api::{BacktestDetail, BacktestStarted, DataEnvelope, PageEnvelope};
use svc_model::{AuditAction, AuditResource, EntityKind, FieldError, ServiceError, Timestamp, unknown_keys};
use svc_project::backtest::IgnoredPath;
use svc_store::{Mutation, NewBacktest, RecordingFilter, StoredBacktest};

use super::require_full_access;
use crate::admin::query::QueryParameters;
use crate::admin::request_body::{NoBody, require_known_keys};
use crate::admin::response::data_response;
use crate::backtests::{BacktestSubject, BacktestTerms};
use crate::bulk::read_list_words;
use crate::http::{AdminCaller, Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The resource type in audit rows.
const RESOURCE: AuditResource = AuditResource::Backtest;

/// Recorded runs of a backtest that names no limit, and the most that one may have.
const DEFAULT_LIMIT: i64 = 1000;
const MOST: i64 = 100_000;

/// Backtests that may not have ended, of all nodes together. A further one is refused.
const MOST_OPEN: usize = 10;

/// The list whose words a filter takes, and those among them.
const RECORDINGS: &str = "/api/v1/admin/recordings";
const WORDS: [&str; 6] = ["channel", "run_key", "version", "outcome", "since", "until"];

/// The body of a start.
struct BacktestOrder {
    /// The number of the version; `None` for the draft.
    version: Option<i64>,
    terms: BacktestTerms,
    limit: i64,
}

/// `POST /workflows/{id}/backtest`: puts a backtest of a workflow on record.
pub(in crate::admin) async fn start_workflow(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: JsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    start(&state, &caller, EntityKind::Workflow, &id, read_request(&body.0)?).await
}

/// `POST /channels/{id}/backtest`: puts a backtest of a channel, with its guards, on record.
pub(in crate::admin) async fn start_channel(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: JsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    start(&state, &caller, EntityKind::Channel, &id, read_request(&body.0)?).await
}

/// Puts a backtest on record and wakes the driver of this node. A version that cannot be compiled is refused here.
async fn start(
    state: &AppState,
    caller: &AdminCaller,
    kind: EntityKind,
    id: &str,
    order: BacktestOrder,
) -> Answer {
    let BacktestOrder { version, mut terms, limit } = order;
    let subject = BacktestSubject::load(&state.store, &state.serving.engine, kind, id, version).await;
    let subject = subject.map_err(ServiceError::from)?;
    let given = terms.filter.channel.as_deref();
    match subject.channel_name() {
        Some(name) if given.is_some_and(|given| given != name) => {
            let why = format!("a backtest of a channel takes its own recordings, those of '{name}'");
            return Err(ServiceError::from(FieldError::invalid("body.filter.channel", why)).into());
        }
        Some(name) => terms.filter.channel = Some(name.to_owned()),
        None => terms.filter.workflow = Some(id.to_owned()),
    }
    // What is recorded meanwhile is not part of it.
    terms.filter.until = terms.filter.until.or_else(|| Some(Timestamp::now()));
    let terms = terms.to_words();
    let mut audit = caller.audit(AuditAction::BacktestStart, RESOURCE, "");
    audit.add_details(json!({
        "kind": kind.name(),
        "definition": id,
        "version": subject.version,
        "filter": &terms["filter"],
        "limit": limit,
    }));
    let new = NewBacktest {
        kind,
        definition: id.to_owned(),
        version: subject.version,
        terms,
        limit,
        started_by: caller.principal.name().to_owned(),
    };
    let started = state.store.backtests().start(new, MOST_OPEN, Mutation::new(audit)).await?;
    state.metrics.record_audit_event(AuditAction::BacktestStart, RESOURCE);
    state.work.backtests.wake();
    Ok(HttpResponse::Accepted().json(DataEnvelope { data: BacktestStarted { id: started.id } }))
}

/// `GET /backtests`, the newest first, without their reports.
pub(in crate::admin) async fn list(
    state: Data<AppState>,
    caller: AdminCaller,
    query: QueryParameters,
) -> Answer {
    require_full_access(&caller)?;
    let page = query.page()?;
    let (rows, total) = state.store.backtests().list(page).await?;
    let rows = rows.into_iter().map(|row| to_detail(StoredBacktest { report: None, ..row }));
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows, total, page)))
}

/// `GET /backtests/{id}`: the progress of a backtest, and its report so far.
pub(in crate::admin) async fn read(state: Data<AppState>, caller: AdminCaller, id: Path<String>) -> Answer {
    require_full_access(&caller)?;
    let backtest = state.store.backtests().get(&id).await?;
    let backtest =
        backtest.ok_or_else(|| ServiceError::not_found(format!("backtest '{id}' does not exist")))?;
    Ok(data_response(to_detail(backtest)))
}

/// `POST /backtests/{id}/abort`: ends a backtest before its next write. The report so far is kept.
pub(in crate::admin) async fn abort(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    _: NoBody,
) -> Answer {
    query.refuse_dry_run()?;
    let mutation = Mutation::new(caller.audit(AuditAction::Abort, RESOURCE, &id));
    let backtest = state.store.backtests().abort(&id, mutation).await?;
    state.metrics.record_audit_event(AuditAction::Abort, RESOURCE);
    Ok(data_response(to_detail(backtest)))
}

/// Reads the body of a start.
fn read_request(body: &Value) -> Result<BacktestOrder, ServiceError> {
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
            .as_i64()
            .filter(|limit| (1..=MOST).contains(limit))
            .ok_or_else(|| FieldError::invalid("body.limit", format!("must be between 1 and {MOST}")))?,
    };
    let filter = match members.get("filter") {
        None | Some(Value::Null) => RecordingFilter::default(),
        Some(Value::Object(words)) => read_filter(words, Timestamp::now())?,
        Some(other) => return Err(FieldError::type_mismatch("body.filter", "object", other).into()),
    };
    Ok(BacktestOrder { version, terms: BacktestTerms { filter, ignore: read_ignored(members)? }, limit })
}

/// Reads a filter by the words of the list of recordings, each with one value.
fn read_filter(words: &Map<String, Value>, now: Timestamp) -> Result<RecordingFilter, ServiceError> {
    let mut errors = unknown_keys(words, "body.filter", &WORDS, &[]);
    errors.extend(words.iter().filter(|(_, value)| value.is_array()).map(|(word, value)| {
        FieldError::type_mismatch(format!("body.filter.{word}"), "string or number", value)
    }));
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let query = read_list_words(RECORDINGS, words)?;
    let (since, until) = query.range(now)?;
    Ok(RecordingFilter {
        channel: query.text("channel"),
        run_key: query.text("run_key"),
        workflow: None,
        version: query.integer("version")?,
        outcome: query.text("outcome"),
        since,
        until,
    })
}

fn read_ignored(members: &Map<String, Value>) -> Result<Vec<String>, ServiceError> {
    let Some(list) = members.get("ignore").filter(|list| !list.is_null()) else { return Ok(Vec::new()) };
    let paths = list.as_array().and_then(|paths| {
        paths.iter().map(|path| path.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    let paths = paths.ok_or_else(|| FieldError::type_mismatch("body.ignore", "array of strings", list))?;
    for (at, path) in paths.iter().enumerate() {
        IgnoredPath::parse(path).map_err(|why| FieldError::invalid(format!("body.ignore[{at}]"), why))?;
    }
    Ok(paths)
}

fn to_detail(backtest: StoredBacktest) -> BacktestDetail {
    BacktestDetail {
        id: backtest.id,
        kind: backtest.kind,
        definition: backtest.definition,
        version: backtest.version,
        state: backtest.state,
        limit: backtest.limit,
        done: backtest.done,
        terms: backtest.terms.into(),
        report: backtest.report,
        reason: backtest.reason,
        node: backtest.holder,
        started_by: backtest.started_by,
        started_at: backtest.started_at,
        ended_at: backtest.ended_at,
    }
}
