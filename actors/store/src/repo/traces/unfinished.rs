//! The runs that a node took and has not ended, as the node that takes them over reads them.

use chrono::NaiveDateTime;
use uuid::Uuid;

use crate::repo::RowKey;
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::{TraceStatus, UnfinishedRun};

/// The statuses of a run that a node took and has not ended.
pub(super) const UNFINISHED: [&str; 2] = [TraceStatus::Pending.name(), TraceStatus::Running.name()];

/// The columns of an [`UnfinishedRun`], in the order of [`unfinished_columns`].
pub(super) type UnfinishedColumns = (
    (String, Option<String>, bool),
    Option<String>,
    String,
    Option<String>,
    LenientTimestamp,
    Option<String>,
    i64,
);

/// Selects the columns of an [`UnfinishedRun`].
macro_rules! unfinished_columns {
    () => {
        (
            (traces::id, traces::attempt_of, traces::queue_channel.is_not_null()),
            traces::channel_id,
            traces::channel,
            traces::input_json,
            traces::created_at,
            traces::owner,
            traces::recoveries,
        )
    };
}
pub(super) use unfinished_columns;

/// Returns the run of a row; `None` for an id that another program wrote. `created_at` is its readable time.
pub(super) fn to_unfinished_run(
    columns: UnfinishedColumns,
    created_at: NaiveDateTime,
) -> Option<UnfinishedRun> {
    let ((id, attempt_of, is_shared), channel_id, channel, input_json, _, owner, recoveries) = columns;
    Some(UnfinishedRun {
        id: Uuid::try_parse(&id).ok()?,
        key: RowKey { created_at, id },
        channel_id,
        channel,
        attempt_of: attempt_of.and_then(|work| Uuid::try_parse(&work).ok()),
        input_json,
        owner,
        recoveries,
        is_shared,
    })
}
