//! The end of deliveries whose endpoint gets nothing any more.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;

use super::model::WebhookDeliveryState;
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::webhook_deliveries;

/// Condition of a delivery whose endpoint was deleted while its event was accepted, as its text.
const ORPHANED: &str = "webhook_deliveries.state = 'pending' AND NOT EXISTS \
     (SELECT 1 FROM webhook_endpoints WHERE webhook_endpoints.id = webhook_deliveries.endpoint_id)";

/// Ends every delivery of an endpoint that has not ended, as a dead letter. An attempt at one may go on meanwhile: its
/// `due_at`, the end of the lease, stays, so that no replay begins another one before.
pub(super) async fn end_pending(conn: &mut Conn, endpoint: &str, reason: &str) -> Result<(), StoreError> {
    let pending = || {
        webhook_deliveries::table
            .filter(webhook_deliveries::endpoint_id.eq(endpoint))
            .filter(webhook_deliveries::state.eq(WebhookDeliveryState::Pending.name()))
    };
    let unclaimed = pending().filter(webhook_deliveries::claimed_by.is_null());
    let now = webhook_deliveries::due_at.eq(Now);
    on!(conn, c => diesel::update(unclaimed).set(now).execute(c).await)?;
    let ended = (
        webhook_deliveries::state.eq(WebhookDeliveryState::Failed.name()),
        webhook_deliveries::claimed_by.eq(None::<&str>),
        webhook_deliveries::last_error.eq(reason),
        webhook_deliveries::ended_at.eq(Now.nullable()),
    );
    on!(conn, c => diesel::update(pending()).set(ended).execute(c).await)?;
    Ok(())
}

/// Ends the deliveries to endpoints that do not exist, so that they expire as others do.
pub(super) async fn end_orphans(conn: &mut Conn) -> Result<(), StoreError> {
    let orphaned = webhook_deliveries::table.filter(sql::<Bool>(ORPHANED));
    let ended = (
        webhook_deliveries::state.eq(WebhookDeliveryState::Failed.name()),
        webhook_deliveries::claimed_by.eq(None::<&str>),
        webhook_deliveries::last_error.eq("the endpoint was deleted"),
        webhook_deliveries::ended_at.eq(Now.nullable()),
    );
    on!(conn, c => diesel::update(orphaned).set(ended).execute(c).await)?;
    Ok(())
}
