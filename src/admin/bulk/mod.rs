//! Actions on many rows: a dry run, the start, the list, and the end before the last row.

pub(super) mod backfill;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_api::{
    BulkDryRun, BulkErrorDetail, BulkRunDetail, BulkSample, BulkStarted, DataEnvelope, PageEnvelope,
};
use svc_model::{AuditAction, AuditResource, FieldError, ServiceError, Timestamp};
use svc_store::{BulkAction, BulkError, BulkKind, BulkRun, NewBulkRun};

use crate::admin::mutation_request::MutationRequest;
use crate::admin::query::QueryParameters;
use crate::admin::request_body::{NoBody, read_flag, require_known_keys};
use crate::admin::response::data_response;
use crate::bulk::{BulkSelection, SelectedRow, fix_moments};
use crate::http::{AdminCaller, Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The resource type in audit rows.
const RUN: AuditResource = AuditResource::BulkRun;

/// Rows that a dry run shows.
const SAMPLES: i64 = 20;
/// Rows a second of a run that names no rate.
const DEFAULT_RATE: u32 = 500;

/// The body of `POST /bulk`.
struct BulkOrder {
    kind: BulkKind,
    action: BulkAction,
    filter: Map<String, Value>,
    rate_per_second: u32,
    is_dry_run: bool,
}

/// `POST /bulk`: starts a run, or shows the rows that it would act on.
pub(super) async fn start(state: Data<AppState>, change: MutationRequest, body: JsonBody) -> Answer {
    let now = Timestamp::now();
    let request = read_request(&body.0, now)?;
    let BulkOrder { kind, action, filter, rate_per_second, is_dry_run } = request;
    let selection = BulkSelection::read(kind, action, &filter, now)?;
    let sample = selection.sample(&state.store, SAMPLES).await?;
    let matched = sample.total.unwrap_or_default();
    if is_dry_run || change.is_dry_run() {
        let samples = sample.rows.into_iter().map(to_sample).collect();
        return Ok(data_response(BulkDryRun { matched, samples }));
    }
    let facts = json!({
        "kind": kind.name(),
        "action": action.name(),
        "filter": &filter,
        "rate_per_second": rate_per_second,
        "matched": matched,
    });
    let started_by = change.caller.principal.name().to_owned();
    let run = NewBulkRun { kind, action, filter, rate_per_second, matched, instants: None, started_by };
    let id = start_run(&state, &change, run, facts).await?;
    Ok(HttpResponse::Accepted().json(DataEnvelope { data: BulkStarted { id, planned: None } }))
}

/// Stores a run with its audit row, and wakes the driver of this node. Returns the id of the run.
async fn start_run(
    state: &AppState,
    change: &MutationRequest,
    run: NewBulkRun,
    facts: Value,
) -> Result<String, ServiceError> {
    let mut mutation = change.mutation(AuditAction::BulkStart, RUN, "");
    mutation.audit.add_details(facts);
    let started = state.store.bulk_runs().start(run, state.config.bulk.max_running, mutation).await?;
    state.metrics.record_audit_event(AuditAction::BulkStart, RUN);
    state.work.bulk.wake();
    Ok(started.id)
}

/// `GET /bulk`, the newest first.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let (rows, total) = state.store.bulk_runs().list(page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(to_detail), total, page)))
}

/// `GET /bulk/{id}`: the progress of a run.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    let run = state.store.bulk_runs().get(&id).await?;
    let run = run.ok_or_else(|| ServiceError::not_found(format!("bulk run '{id}' does not exist")))?;
    Ok(data_response(to_detail(run)))
}

/// `POST /bulk/{id}/abort`: ends a run before its next page.
pub(super) async fn abort(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    _: NoBody,
) -> Answer {
    query.refuse_dry_run()?;
    let mutation = svc_store::Mutation::new(caller.audit(AuditAction::Abort, RUN, &id));
    let run = state.store.bulk_runs().abort(&id, mutation).await?;
    state.metrics.record_audit_event(AuditAction::Abort, RUN);
    state.work.bulk.wake();
    Ok(data_response(to_detail(run)))
}

fn to_sample(row: SelectedRow) -> BulkSample {
    let SelectedRow { id, channel, status, error, created_at, .. } = row;
    BulkSample { id, channel, status, error, created_at }
}

fn to_detail(run: BulkRun) -> BulkRunDetail {
    BulkRunDetail {
        id: run.id,
        kind: run.kind,
        action: run.action,
        filter: run.filter.into(),
        rate_per_second: run.rate_per_second,
        state: run.state,
        matched: run.matched,
        done: run.done,
        failed: run.failed,
        skipped: run.skipped,
        errors: run.errors.into_iter().map(to_error).collect(),
        reason: run.reason,
        node: run.holder,
        started_by: run.started_by,
        started_at: run.started_at,
        ended_at: run.ended_at,
    }
}

fn to_error(error: BulkError) -> BulkErrorDetail {
    let BulkError { id, message } = error;
    BulkErrorDetail { id, message }
}

/// Reads the body of a start.
fn read_request(body: &Value, now: Timestamp) -> Result<BulkOrder, ServiceError> {
    const KEYS: [&str; 6] = ["kind", "action", "filter", "rate_per_second", "dry_run", "all"];
    let members = require_known_keys(body, &KEYS)?;
    let kind = read_word(members, "kind", BulkKind::parse, BulkKind::ALL.iter().map(|kind| kind.name()))?;
    // A backfill has an endpoint of its own.
    let actions = BulkAction::ALL.iter().filter(|action| **action != BulkAction::Backfill);
    let action = read_word(members, "action", BulkAction::parse, actions.map(|action| action.name()))?;
    let words = match members.get("filter") {
        Some(Value::Object(words)) => words.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(other) => return Err(FieldError::type_mismatch("body.filter", "object", other).into()),
    };
    let is_for_all = read_flag(members, "all", false)?;
    if words.values().all(Value::is_null) && !is_for_all {
        let message = "an empty filter selects every row; to act on all of them, send \"all\": true";
        return Err(FieldError::invalid("body.filter", message).into());
    }
    let rate_per_second = match members.get("rate_per_second") {
        None | Some(Value::Null) => DEFAULT_RATE,
        Some(rate) => rate
            .as_u64()
            .and_then(|rate| u32::try_from(rate).ok())
            .ok_or_else(|| FieldError::type_mismatch("body.rate_per_second", "integer, 0 or more", rate))?,
    };
    let (filter, is_dry_run) = (fix_moments(kind, &words, now)?, read_flag(members, "dry_run", false)?);
    Ok(BulkOrder { kind, action, filter, rate_per_second, is_dry_run })
}

/// Reads a member that holds one of a set of words.
fn read_word<T>(
    members: &Map<String, Value>,
    key: &str,
    parse: impl Fn(&str) -> Option<T>,
    known: impl Iterator<Item = &'static str>,
) -> Result<T, ServiceError> {
    let path = format!("body.{key}");
    let known: Vec<_> = known.collect();
    match members.get(key) {
        None | Some(Value::Null) => Err(FieldError::required(path).into()),
        Some(Value::String(word)) => match parse(word).filter(|_| known.contains(&word.as_str())) {
            Some(value) => Ok(value),
            None => {
                let message = format!("must be one of {}", known.join(", "));
                let error = FieldError::invalid(path, message).with_expected(known);
                Err(error.with_got(word.as_str()).into())
            }
        },
        Some(other) => Err(FieldError::type_mismatch(path, "string", other).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &Value) -> Result<BulkOrder, ServiceError> {
        read_request(body, Timestamp::parse("2026-01-02T12:00:00Z").unwrap())
    }

    #[test]
    fn request_has_a_rate_and_fixed_instants() {
        let body = json!({"kind": "dead_letters", "action": "requeue", "filter": {"since": "-1h"}});
        let request = read(&body).unwrap();
        assert_eq!((request.rate_per_second, request.is_dry_run), (500, false));
        let since = Timestamp::parse(request.filter["since"].as_str().unwrap());
        assert_eq!(since, Timestamp::parse("2026-01-02T11:00:00Z"));
        let body = json!({"kind": "dead_letters", "action": "purge", "all": true, "rate_per_second": 0});
        let request = read(&body).unwrap();
        assert_eq!((request.rate_per_second, request.filter.is_empty()), (0, true));
    }

    #[test]
    fn request_without_meaning_is_refused() {
        for bad in [
            json!([]),
            json!({}),
            json!({"kind": "dead_letters", "filter": {"channel": "a"}}),
            json!({"kind": "letters", "action": "requeue", "filter": {"channel": "a"}}),
            json!({"kind": "dead_letters", "action": "backfill", "filter": {"channel": "a"}}),
            json!({"kind": "dead_letters", "action": "requeue"}),
            json!({"kind": "dead_letters", "action": "requeue", "filter": {}}),
            json!({"kind": "dead_letters", "action": "requeue", "filter": {}, "all": false}),
            json!({"kind": "dead_letters", "action": "requeue", "filter": [], "all": true}),
            json!({"kind": "dead_letters", "action": "requeue", "filter": {"channel": null}}),
            json!({"kind": "dead_letters", "action": "requeue", "all": "yes"}),
            json!({"kind": "dead_letters", "action": "requeue", "filter": {"channel": "a"}, "all": 1}),
            json!({"kind": "dead_letters", "action": "requeue", "all": true, "rate_per_second": -1}),
            json!({"kind": "dead_letters", "action": "requeue", "all": true, "rate": 1}),
        ] {
            assert_eq!(read(&bad).map(|_| ()).unwrap_err().status(), 400, "{bad}");
        }
    }
}
