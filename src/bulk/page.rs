//! A page of a run: it is read, then acted on in one transaction.

use std::time::Duration;

use chrono::NaiveDateTime;
use serde_json::{Map, Value};
use svc_model::{ServiceError, Timestamp};
use svc_store::{AppliedPage, BulkAction, BulkKind, BulkPage, BulkRun, BulkStep, ChannelFacts, StoreError};
use svc_traces::ReservedRoom;

use super::selection::{BulkSelection, SelectedRow};
use super::shared::{BulkShared, LEASE};

/// Time between two looks at the open occurrences of a backfill.
const BACKFILL_POLL: Duration = Duration::from_millis(500);

/// Time between two looks for room among the work that waits.
const ROOM_POLL: Duration = Duration::from_millis(500);

/// The rows at the position of a run.
pub(super) struct RunRows {
    pub(super) rows: Vec<SelectedRow>,
    /// The cursor behind them; `None` if they are the last.
    pub(super) next: Option<String>,
}

/// The size of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TakenStep {
    /// Rows of its page.
    pub(super) rows: usize,
    /// Shortest delay before the next step.
    pub(super) pause: Duration,
}

/// Requeues a page of dead letters, as many as there is room for.
pub(super) async fn requeue_page(
    shared: &BulkShared,
    run: &BulkRun,
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    let mut read = read_rows(shared, run, run.position.clone(), size).await?;
    let rooms = reserve_retries(shared, &read.rows).await?;
    if rooms.is_empty() && !read.rows.is_empty() {
        return wait_for_room(shared, run).await;
    }
    if rooms.len() < read.rows.len() {
        // Once more, for the cursor behind the rows that have room.
        let size = u32::try_from(rooms.len()).unwrap_or(size);
        read = read_rows(shared, run, run.position.clone(), size).await?;
    }
    let (step, taken) = apply_page(shared, run, &read.rows, read.next).await?;
    if let BulkStep::Continues { done, .. } | BulkStep::Ended { done, .. } = &step {
        // Retries are counted now and then.
        rooms.iter().take(*done).flatten().for_each(ReservedRoom::confirm);
    }
    Ok((step, taken))
}

/// Acts on the rows of a page; `next` is the position behind it.
pub(super) async fn apply_page(
    shared: &BulkShared,
    run: &BulkRun,
    rows: &[SelectedRow],
    next: Option<String>,
) -> Result<(BulkStep, TakenStep), StoreError> {
    let page = BulkPage { ids: rows.iter().map(|row| row.id.clone()).collect(), next };
    let taken = TakenStep { rows: page.ids.len(), pause: Duration::ZERO };
    let AppliedPage { step, reruns } =
        shared.store.bulk_runs().apply(shared.make_claim(run), page, LEASE).await?;
    for rerun in &reruns {
        shared.traces.note_rerun(rerun);
    }
    Ok((step, taken))
}

/// Keeps a run that finds no room for its next row.
pub(super) async fn wait_for_room(
    shared: &BulkShared,
    run: &BulkRun,
) -> Result<(BulkStep, TakenStep), StoreError> {
    let step = shared.store.bulk_runs().hold(shared.make_claim(run), LEASE).await?;
    Ok((step, TakenStep { rows: 0, pause: ROOM_POLL }))
}

/// Takes room for the retries of dead letters, for as many of the first ones as there is room for. Work that waits for a
/// retry already has its room.
async fn reserve_retries(
    shared: &BulkShared,
    rows: &[SelectedRow],
) -> Result<Vec<Option<ReservedRoom>>, StoreError> {
    let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    let waiting = shared.store.dead_letters().find_retrying(&ids).await?;
    let mut rooms = Vec::with_capacity(rows.len());
    for row in rows {
        let room = match waiting.contains(&row.id) {
            true => None,
            false => match shared.traces.reserve_retry().await {
                Ok(room) => Some(room),
                Err(_) => break,
            },
        };
        rooms.push(room);
    }
    Ok(rooms)
}

/// Reads at most `size` rows of a run from a cursor on, up to its start.
pub(super) async fn read_rows(
    shared: &BulkShared,
    run: &BulkRun,
    cursor: Option<String>,
    size: u32,
) -> Result<RunRows, StoreError> {
    read_selected(shared, run, &select(run)?, cursor, size).await
}

/// Returns the rows that a run acts on.
pub(super) fn select(run: &BulkRun) -> Result<BulkSelection, StoreError> {
    let (Some(kind), Some(action)) = (BulkKind::parse(&run.kind), BulkAction::parse(&run.action)) else {
        let message = format!("this program cannot {} {}", run.action, run.kind);
        return Err(ServiceError::conflict(message).into());
    };
    Ok(BulkSelection::read(kind, action, &run.filter, Timestamp::now())?)
}

/// Reads at most `size` rows of a selection from a cursor on, up to the start of the run.
pub(super) async fn read_selected(
    shared: &BulkShared,
    run: &BulkRun,
    selection: &BulkSelection,
    cursor: Option<String>,
    size: u32,
) -> Result<RunRows, StoreError> {
    let page = selection.list(&shared.store, cursor, i64::from(size)).await?;
    let read = page.rows.len();
    let rows = page.rows.into_iter().take_while(|row| row.created_at <= run.started_at);
    let rows: Vec<SelectedRow> = rows.collect();
    let next = page.next.filter(|_| rows.len() == read);
    Ok(RunRows { rows, next })
}

/// Puts the next instants of a backfill on record.
pub(super) async fn put_instants(
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
