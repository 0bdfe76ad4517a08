//! A step of a run, by its action.

use chrono::NaiveDateTime;
use svc_store::{BulkAction, BulkRun, BulkStep, StoreError};

use super::page::{TakenStep, apply_page, put_instants, read_rows, requeue_page};
use super::reruns::rerun_page;
use super::shared::BulkShared;

/// Makes the next step of a run, with a page of at most `size` rows.
pub(super) async fn take_step(
    shared: &BulkShared,
    run: &BulkRun,
    instants: &[NaiveDateTime],
    size: u32,
) -> Result<(BulkStep, TakenStep), StoreError> {
    match BulkAction::parse(&run.action) {
        Some(BulkAction::Backfill) => put_instants(shared, run, instants).await,
        Some(BulkAction::Rerun) => rerun_page(shared, run, size).await,
        Some(BulkAction::Requeue) => requeue_page(shared, run, size).await,
        _ => {
            let read = read_rows(shared, run, run.position.clone(), size).await?;
            apply_page(shared, run, &read.rows, read.next).await
        }
    }
}
