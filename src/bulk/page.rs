//! A step of a run: the next page is read, then acted on in one transaction.

use std::time::Duration;

use chrono::NaiveDateTime;
use serde_json::{Map, Value};
use svc_model::{ServiceError, Timestamp};
use svc_store::{AppliedPage, BulkAction, BulkKind, BulkPage, BulkRun, BulkStep, ChannelFacts, StoreError};

use super::selection::BulkSelection;
use super::shared::{BulkShared, LEASE};

/// Time between two looks at the open occurrences of a backfill.
const BACKFILL_POLL: Duration = Duration::from_millis(500);

/// The size of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TakenStep {
    /// Rows of its page.
    pub(super) rows: usize,
    /// Shortest delay before the next step.
    pub(super) pause: Duration,
}

/// Makes the next step of a run, with a page of at most `size` rows.
pub(super) async fn take_step(
    shared: &BulkShared,
    run: &BulkRun,
    instants: &[NaiveDateTime],
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    if BulkAction::parse(&run.action) == Some(BulkAction::Backfill) {
        return put_instants(shared, run, instants).await;
    }
    let page = read_page(shared, run, size).await?;
    let taken = TakenStep { rows: page.ids.len(), pause: Duration::ZERO };
    let AppliedPage { step, reruns } =
        shared.store.bulk_runs().apply(shared.make_claim(run), page, LEASE).await?;
    for rerun in &reruns {
        shared.traces.note_rerun(rerun);
    }
    Ok((step, taken))
}

/// Reads the rows at the position of a run, up to its start.
async fn read_page(shared: &BulkShared, run: &BulkRun, size: u32) -> Result<BulkPage, StoreError> {
    let (Some(kind), Some(action)) = (BulkKind::parse(&run.kind), BulkAction::parse(&run.action)) else {
        let message = format!("this program cannot {} {}", run.action, run.kind);
        return Err(ServiceError::conflict(message).into());
    };
    let selection = BulkSelection::read(kind, action, &run.filter, Timestamp::now())?;
    let page = selection.list(&shared.store, run.position.clone(), i64::from(size)).await?;
    let read = page.rows.len();
    let rows = page.rows.into_iter().take_while(|row| row.created_at <= run.started_at);
    let ids: Vec<String> = rows.map(|row| row.id).collect();
    let next = page.next.filter(|_| ids.len() == read);
    Ok(BulkPage { ids, next })
}

/// Puts the next instants of a backfill on record.
async fn put_instants(
    shared: &BulkShared,
    run: &BulkRun,
    instants: &[NaiveDateTime],
) -> Result<(BulkStep, TakenStep), StoreError> {
    let done: usize = run.position.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
    let left = instants.get(done..).unwrap_or_default().to_vec();
    let facts = read_facts(&run.filter);
    let (channel, max_parallel) =
        facts.ok_or_else(|| ServiceError::conflict("the plan of this backfill cannot be read"))?;
    let claim = shared.make_claim(run);
    let step = shared.store.bulk_runs().backfill(claim, left, (channel, max_parallel), LEASE).await?;
    Ok((step, TakenStep { rows: 0, pause: BACKFILL_POLL }))
}

/// Returns the channel of a backfill, and the number of its occurrences that may be open.
fn read_facts(filter: &Map<String, Value>) -> Option<(ChannelFacts, u32)> {
    let text = |key: &str| filter.get(key).and_then(Value::as_str).map(str::to_owned);
    let max_parallel = filter.get("max_parallel")?.as_u64()?;
    let channel = ChannelFacts {
        channel_id: text("channel_id")?,
        channel_name: text("channel")?,
        channel_version: filter.get("version")?.as_i64()?,
        workflow_id: text("workflow"),
    };
    Some((channel, u32::try_from(max_parallel).ok()?))
}
