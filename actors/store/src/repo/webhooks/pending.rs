//! The end of deliveries whose endpoint gets nothing any more.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::model::WebhookDeliveryState;
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::webhook_deliveries;

/// Ends every delivery of an endpoint that has not ended, as a dead letter.
pub(super) async fn end_pending(conn: &mut Conn, endpoint: &str, reason: &str) -> Result<(), StoreError> {
    let pending = webhook_deliveries::table
        .filter(webhook_deliveries::endpoint_id.eq(endpoint))
        .filter(webhook_deliveries::state.eq(WebhookDeliveryState::Pending.name()));
    let ended = (
        webhook_deliveries::state.eq(WebhookDeliveryState::Failed.name()),
        webhook_deliveries::claimed_by.eq(None::<&str>),
        webhook_deliveries::last_error.eq(reason),
        webhook_deliveries::ended_at.eq(Now.nullable()),
    );
    on!(conn, c => diesel::update(pending).set(ended).execute(c).await)?;
    Ok(())
}
