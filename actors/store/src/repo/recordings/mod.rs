//! Recorded runs. They are written in batches after their runs, read by operators and backtests, and deleted after their
//! time, or by the key of a run.

mod model;
mod rows;

use chrono::NaiveTime;
use svc_model::Page;

use crate::clock;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::{RowKey, key};
use crate::writer::UnitOutcome;

pub use model::{NewRunRecording, RecordingFilter, RecordingRow, StoredRunRecording};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("recordings", method)
}

/// The recorded runs.
#[derive(Clone)]
pub struct Recordings(pub(crate) Database);

impl Recordings {
    /// Writes a batch of recordings, all or none. One that is stored already stays as it is, so that a write whose answer
    /// was lost may be repeated.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn insert(&self, recordings: Vec<NewRunRecording>) -> Result<(), StoreError> {
        self.0
            .write(operation("insert"), move |conn| {
                Box::pin(async move {
                    for recording in &recordings {
                        rows::insert(conn, recording).await?;
                    }
                    Ok(UnitOutcome::Keep(()))
                })
            })
            .await
    }

    /// Returns the number of recordings of a channel since the beginning of the day, in UTC.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn count_today(&self, channel_id: &str) -> Result<u64, StoreError> {
        let channel_id = key(channel_id);
        self.0
            .read(operation("count_today"), move |conn| {
                Box::pin(async move {
                    let midnight = clock::now(conn).await?.date().and_time(NaiveTime::MIN);
                    rows::count_since(conn, &channel_id, midnight).await
                })
            })
            .await
    }

    /// Returns a page of the recordings that match, the newest first, and the number of all of them.
    ///
    /// # Errors
    /// Those of [`count_today`](Self::count_today).
    pub async fn list(
        &self,
        filter: RecordingFilter,
        page: Page,
    ) -> Result<(Vec<RecordingRow>, i64), StoreError> {
        let filter = filter.into_storable();
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { rows::list(conn, &filter, page).await })
            })
            .await
    }

    /// Returns the next recordings that match, with their content, the newest first: those behind `position`, from the
    /// newest without one.
    ///
    /// # Errors
    /// Those of [`count_today`](Self::count_today).
    pub async fn read_next(
        &self,
        filter: RecordingFilter,
        position: Option<RowKey>,
        limit: i64,
    ) -> Result<Vec<StoredRunRecording>, StoreError> {
        let filter = filter.into_storable();
        self.0
            .read(operation("read_next"), move |conn| {
                Box::pin(async move { rows::read_next(conn, &filter, position, limit).await })
            })
            .await
    }

    /// Returns the recording with this id.
    ///
    /// # Errors
    /// Those of [`count_today`](Self::count_today).
    pub async fn get(&self, id: &str) -> Result<Option<StoredRunRecording>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { rows::find(conn, &id).await })).await
    }

    /// Deletes the recordings that match, and returns their number.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert).
    pub async fn delete(&self, filter: RecordingFilter, mutation: Mutation) -> Result<u64, StoreError> {
        let filter = filter.into_storable();
        mutate(&self.0, operation("delete"), mutation, move |conn| {
            Box::pin(async move {
                let deleted = rows::delete(conn, &filter).await?;
                Ok(MutationResult {
                    value: deleted,
                    id: (deleted > 0).then(String::new),
                    facts: ChangeFacts::default(),
                })
            })
        })
        .await
    }

    /// Deletes the recordings older than `hours`, and returns their number. Works in steps of at most `chunk` rows,
    /// between which others can write.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert). Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = self.0.write(operation("delete_expired"), move |conn| {
                Box::pin(async move {
                    let before = clock::hours_ago(conn, hours).await?;
                    rows::delete_expired(conn, before, chunk).await.map(UnitOutcome::Keep)
                })
            });
            let step = step.await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}
