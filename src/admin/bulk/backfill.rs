//! Backfills of schedules: the missed instants of a range are put on record as a bulk run.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path, block};
use chrono::NaiveDateTime;
use serde_json::{Map, Value, json};
use svc_api::{BackfillDryRun, BulkStarted, DataEnvelope};
use svc_cron::{BackfillRange, BackfillRefusal, plan_missed_instants};
use svc_model::{FieldError, ServiceError, Timestamp};
use svc_registry::LoadedChannel;
use svc_store::{BulkAction, BulkKind, NewBulkRun};

use super::start_run;
use crate::admin::mutation_request::MutationRequest;
use crate::admin::request_body::{read_flag, read_instant, require_known_keys};
use crate::admin::response::data_response;
use crate::http::{Error, JsonBody};
use crate::state::AppState;

/// Maximum number of open occurrences of a backfill.
const MOST_PARALLEL: u64 = 64;

/// The body of `POST /channels/{id}/backfill`.
#[derive(Debug)]
struct BackfillOrder {
    range: BackfillRange,
    max_parallel: u64,
    is_dry_run: bool,
}

/// `POST /channels/{id}/backfill`: makes up for the instants of a range that never ran, or lists them.
pub(in crate::admin) async fn start(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let request = read_request(&body.0)?;
    let BackfillRange { from, until, assume_missed } = request.range;
    let snapshot = Arc::clone(&state.serving.registry.snapshot());
    let entry = snapshot.channel_by_id(&id).filter(|entry| entry.is_cron() && entry.quarantine().is_none());
    let entry = entry.ok_or_else(|| ServiceError::validation(format!("No active cron channel '{id}'")))?;
    let history = state.store.ledger().history(&id, (from, until)).await?;
    let (planned_entry, range) = (Arc::clone(entry), request.range);
    // A range of years has many instants, which are no work for a thread that serves.
    let planned = block(move || plan(&planned_entry, range, &history)).await;
    let instants = planned.map_err(ServiceError::internal_error)??;
    if request.is_dry_run || change.is_dry_run() {
        let instants: Vec<_> = instants.into_iter().map(Timestamp::from_naive).collect();
        return Ok(data_response(BackfillDryRun { planned: instants.len(), instants }));
    }
    let words = json!({
        "channel_id": entry.id(),
        "channel": entry.name(),
        "version": entry.row.version,
        "workflow": &entry.row.content.workflow_id,
        "from": Timestamp::from_naive(from),
        "until": Timestamp::from_naive(until),
        "max_parallel": request.max_parallel,
        "assume_missed": assume_missed,
    });
    let planned = instants.len();
    let run = NewBulkRun {
        kind: BulkKind::Occurrences,
        action: BulkAction::Backfill,
        filter: words.as_object().cloned().unwrap_or_default(),
        rate_per_second: 0,
        matched: i64::try_from(planned).unwrap_or(i64::MAX),
        instants: Some(instants),
        started_by: change.caller.principal.name().to_owned(),
    };
    let facts = json!({"kind": "occurrences", "action": "backfill", "filter": words, "matched": planned});
    let id = start_run(&state, &change, run, facts).await?;
    Ok(HttpResponse::Accepted().json(DataEnvelope { data: BulkStarted { id, planned: Some(planned) } }))
}

/// Returns the instants that never ran.
fn plan(
    entry: &LoadedChannel,
    range: BackfillRange,
    history: &svc_store::ScheduleHistory,
) -> Result<Vec<NaiveDateTime>, ServiceError> {
    let cron = entry.compiled_channel().and_then(|channel| channel.cron());
    let cron =
        cron.ok_or_else(|| ServiceError::validation(format!("No active cron channel '{}'", entry.id())))?;
    plan_missed_instants(&cron.schedule, range, history).map_err(|refused| {
        let path = match refused {
            BackfillRefusal::Reversed | BackfillRefusal::TooMany(_) | BackfillRefusal::Countless(_) => {
                "body.until"
            }
            BackfillRefusal::NothingKept | BackfillRefusal::BeginsBeforeOldest(_) => "body.from",
        };
        FieldError::invalid(path, refused.to_string()).into()
    })
}

/// Reads the body.
fn read_request(body: &Value) -> Result<BackfillOrder, ServiceError> {
    let members = require_known_keys(body, &["from", "until", "dry_run", "max_parallel", "assume_missed"])?;
    let max_parallel = match members.get("max_parallel") {
        None | Some(Value::Null) => 1,
        Some(number) => number
            .as_u64()
            .filter(|number| (1..=MOST_PARALLEL).contains(number))
            .ok_or_else(|| FieldError::type_mismatch("body.max_parallel", "integer from 1 to 64", number))?,
    };
    let range = BackfillRange {
        from: require_instant(members, "from")?,
        until: require_instant(members, "until")?,
        assume_missed: read_flag(members, "assume_missed", false)?,
    };
    Ok(BackfillOrder { range, max_parallel, is_dry_run: read_flag(members, "dry_run", false)? })
}

fn require_instant(members: &Map<String, Value>, key: &str) -> Result<NaiveDateTime, ServiceError> {
    let instant = read_instant(members, key)?.ok_or_else(|| FieldError::required(format!("body.{key}")))?;
    Ok(instant.naive())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_names_a_range_and_a_parallelism() {
        let body = json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"});
        let request = read_request(&body).unwrap();
        assert_eq!(
            (request.max_parallel, request.is_dry_run, request.range.assume_missed),
            (1, false, false)
        );
        for bad in [
            json!([]),
            json!({"from": "2026-01-01T00:00:00Z"}),
            json!({"from": "2026-01-01T00:00:00", "until": "2026-01-02T00:00:00Z"}),
            json!({"from": "yesterday", "until": "2026-01-02T00:00:00Z"}),
            json!({"from": 1, "until": "2026-01-02T00:00:00Z"}),
            json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "max_parallel": 0}),
            json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "max_parallel": 65}),
            json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "assume_missed": 1}),
            json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "to": 1}),
        ] {
            assert_eq!(read_request(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
