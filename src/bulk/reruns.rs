//! Reruns keep to the room of their channels. A channel without room does not hold the others up: its rows are left out
//! of the pages of all rows, and taken once these were read, as far as there is room.

use serde_json::{Map, Value};
use svc_model::ServiceError;
use svc_store::{BulkRun, BulkStep, StoreError};
use svc_traces::ReservedRoom;

use super::page::{RunRows, TakenStep, apply_page, read_rows, read_selected, select, wait_for_room};
use super::position::{LeftOutChannel, RerunPageStart, RerunPosition};
use super::selection::{BulkSelection, SelectedRow};
use super::shared::BulkShared;

/// Submits a page of at most `size` traces again.
pub(super) async fn rerun_page(
    shared: &BulkShared,
    run: &BulkRun,
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    let position = RerunPosition::parse(run.position.as_deref());
    match position.page.clone() {
        // There are no others to go on with, so that the position stays a cursor, which earlier versions read too.
        Some(page) if has_only_channel(&run.filter) && position.left_out.is_empty() => {
            take_in_order(shared, run, page.cursor, size).await
        }
        Some(page) => take_page(shared, run, position, page, size).await,
        None => take_left_out(shared, run, position, size).await,
    }
}

/// Returns true for the filter of a run that names one channel alone.
fn has_only_channel(filter: &Map<String, Value>) -> bool {
    let channel = match filter.get("channel") {
        Some(Value::Array(channels)) if channels.len() == 1 => channels.first(),
        channel => channel,
    };
    channel.and_then(Value::as_str).is_some_and(|channel| !channel.contains(','))
}

/// Submits the rows from a cursor on again, as far as there is room.
async fn take_in_order(
    shared: &BulkShared,
    run: &BulkRun,
    cursor: Option<String>,
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    match read_with_room(shared, run, &select(run)?, cursor, size).await? {
        Some(RowsWithRoom { read, _rooms }) => apply_page(shared, run, &read.rows, read.next).await,
        None => wait_for_room(shared, run).await,
    }
}

/// Submits the rows of a page of all rows again, but for those of channels that are left out.
async fn take_page(
    shared: &BulkShared,
    run: &BulkRun,
    mut position: RerunPosition,
    page: RerunPageStart,
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    let RunRows { mut rows, mut next } = read_rows(shared, run, page.cursor.clone(), size).await?;
    let reserved = reserve_page(shared, &position, &page, &rows).await;
    if !position.may_leave_out(reserved.full.len()) || (reserved.count == 0 && !rows.is_empty()) {
        return wait_for_room(shared, run).await;
    }
    if reserved.count < rows.len() {
        // Once more, for the cursor behind the rows that have room.
        let size = u32::try_from(reserved.count).unwrap_or(size);
        RunRows { rows, next } = read_rows(shared, run, page.cursor, size).await?;
    }
    position.left_out.extend(reserved.full);
    position.pass_page(next);
    rows.retain(|row| !position.leaves_out(&row.channel));
    apply_page(shared, run, &rows, position.to_text()).await
}

/// Submits rows again that were left out, of the first channel that has room.
async fn take_left_out(
    shared: &BulkShared,
    run: &BulkRun,
    mut position: RerunPosition,
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    for channel in position.left_out.clone() {
        let LeftOutChannel { name, id, page } = channel;
        if reserve(shared, id.as_deref()).await.is_err() {
            continue;
        }
        let selection = select(run)?.narrow_to_channel(&name);
        let taken = read_with_room(shared, run, &selection, page.cursor, size).await?;
        let Some(RowsWithRoom { read, _rooms }) = taken else { continue };
        position.pass_left_out(&name, read.next);
        return apply_page(shared, run, &read.rows, position.to_text()).await;
    }
    wait_for_room(shared, run).await
}

/// Rows that have room.
struct RowsWithRoom {
    read: RunRows,
    /// Their room, until they wait themselves.
    _rooms: Vec<ReservedRoom>,
}

/// Reads the first rows from a cursor on, as many as have room; `None` if the first one has none.
async fn read_with_room(
    shared: &BulkShared,
    run: &BulkRun,
    selection: &BulkSelection,
    cursor: Option<String>,
    size: u32,
) -> Result<Option<RowsWithRoom>, StoreError> {
    let mut read = read_selected(shared, run, selection, cursor.clone(), size).await?;
    let mut rooms = Vec::with_capacity(read.rows.len());
    for row in &read.rows {
        let Ok(room) = reserve(shared, row.channel_id.as_deref()).await else { break };
        rooms.push(room);
    }
    if rooms.is_empty() && !read.rows.is_empty() {
        return Ok(None);
    }
    if rooms.len() < read.rows.len() {
        // Once more, for the cursor behind the rows that have room.
        let size = u32::try_from(rooms.len()).unwrap_or(size);
        read = read_selected(shared, run, selection, cursor, size).await?;
    }
    Ok(Some(RowsWithRoom { read, _rooms: rooms }))
}

/// The room that a page has.
struct ReservedPage {
    /// Number of its first rows that have room, or are of channels that are left out.
    count: usize,
    /// The channels of these rows that are full.
    full: Vec<LeftOutChannel>,
    /// The room of the others, until they wait themselves.
    _rooms: Vec<(String, ReservedRoom)>,
}

/// Takes room for the first rows of a page, up to the first one for which the service has none.
async fn reserve_page(
    shared: &BulkShared,
    position: &RerunPosition,
    page: &RerunPageStart,
    rows: &[SelectedRow],
) -> ReservedPage {
    let mut full: Vec<LeftOutChannel> = Vec::new();
    let mut rooms: Vec<(String, ReservedRoom)> = Vec::new();
    let mut count = 0;
    for row in rows {
        let is_full = full.iter().any(|channel| channel.name == row.channel);
        if !is_full && !position.leaves_out(&row.channel) {
            match reserve(shared, row.channel_id.as_deref()).await {
                Ok(room) => rooms.push((row.channel.clone(), room)),
                Err(_) => {
                    if shared.traces.reserve_retry().await.is_err() {
                        break;
                    }
                    // All of its rows of this page are left out: they are read again from its start.
                    rooms.retain(|(channel, _)| *channel != row.channel);
                    let (name, id, page) = (row.channel.clone(), row.channel_id.clone(), page.clone());
                    full.push(LeftOutChannel { name, id, page });
                }
            }
        }
        count += 1;
    }
    ReservedPage { count, full, _rooms: rooms }
}

async fn reserve(shared: &BulkShared, channel_id: Option<&str>) -> Result<ReservedRoom, ServiceError> {
    shared.traces.reserve_rerun(channel_id).await
}
