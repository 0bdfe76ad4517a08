//! The topics of endpoints.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::ALL_WEBHOOK_TOPICS;

use super::model::{WebhookEvent, WebhookState};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::{webhook_endpoints, webhook_topics};

/// Replaces the topics of an endpoint.
pub(super) async fn replace(conn: &mut Conn, id: &str, topics: &[String]) -> Result<(), StoreError> {
    let old = webhook_topics::table.filter(webhook_topics::endpoint_id.eq(id));
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    for topic in topics {
        let row = (webhook_topics::topic.eq(topic), webhook_topics::endpoint_id.eq(id));
        let insert = diesel::insert_into(webhook_topics::table).values(row).on_conflict_do_nothing();
        on!(conn, c => insert.execute(c).await)?;
    }
    Ok(())
}

/// Returns the ids of the enabled endpoints that get an event, in one order, so that transactions which insert rows of the
/// same event do not wait for each other in a circle.
pub(super) async fn subscribers(conn: &mut Conn, event: &WebhookEvent) -> Result<Vec<String>, StoreError> {
    let topics = [event.topic.as_str(), ALL_WEBHOOK_TOPICS];
    let ids: Vec<String> = on!(conn, c: Db => {
        let subscribed = webhook_topics::table
            .filter(webhook_topics::topic.eq_any(topics))
            .select(webhook_topics::endpoint_id);
        let mut query = webhook_endpoints::table
            .filter(webhook_endpoints::state.eq(WebhookState::Enabled.name()))
            .filter(webhook_endpoints::id.eq_any(subscribed))
            .order(webhook_endpoints::id.asc())
            .select(webhook_endpoints::id)
            .into_boxed::<Db>();
        if let Some(consumer) = &event.consumer {
            query = query.filter(webhook_endpoints::consumer.eq(consumer));
        }
        query.load(c).await
    })?;
    Ok(ids)
}
