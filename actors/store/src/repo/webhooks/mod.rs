//! Webhooks to customers: endpoints, the deliveries of events to them, and the attempts.
//!
//! An event becomes one row for each endpoint that gets it, unless the endpoint has a row of that event already, so that
//! a repeated run adds nothing. A node claims due rows for the time of a lease and attempts each; what it writes afterwards
//! counts only while the claim is the last one. So attempts at one event never overlap, whatever node is killed. Endpoints
//! are read with each claim: a change of one is in effect on every node at once, and raises no epoch.

mod deliveries;
mod endpoints;
mod lists;
mod model;
mod pending;
mod topic_rows;

use std::sync::Arc;
use std::time::Duration;

use svc_model::id::new_entity_id;
use svc_model::{AuditAction, Page, ServiceError, Timestamp};
use svc_secrets::EnvelopeKeys;

use crate::clock;
use crate::connections::pool::TransactionFn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate, record};
use crate::writer::UnitOutcome;
use deliveries::WebhookClaimRequest;

pub(crate) use endpoints::{abandon_endpoints, webhook_secret_place};
pub use model::{
    ClaimedWebhook, DueEndpoint, EndpointRoom, NewWebhookAttempt, NewWebhookEndpoint, RecordedAttempt,
    UnreadableEndpoint, WebhookAttempt, WebhookAttemptEnd, WebhookChange, WebhookClaims, WebhookCounts,
    WebhookDelivery, WebhookDeliveryState, WebhookEndpoint, WebhookEvent, WebhookFilter, WebhookOutcome,
    WebhookReplay, WebhookSecret, WebhookState, WebhookTarget,
};

/// Deliveries that one replay makes due.
const REPLAYED: usize = 10_000;

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("webhooks", method)
}

/// The webhooks to customers.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) database: Database,
    pub(crate) keys: Arc<EnvelopeKeys>,
}

impl Webhooks {
    /// Registers an endpoint, which is not verified yet, unless there are `most` already.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if there are too many; the other variants if the database fails.
    pub async fn create(
        &self,
        endpoint: NewWebhookEndpoint,
        most: u32,
        mutation: Mutation,
    ) -> Result<WebhookEndpoint, StoreError> {
        let keys = Arc::clone(&self.keys);
        mutate(&self.database, operation("create"), mutation, move |conn| {
            Box::pin(async move {
                if endpoints::count(conn).await? >= i64::from(most) {
                    let message =
                        format!("there are {most} webhook endpoints, as many as webhooks.max_endpoints");
                    return Err(ServiceError::conflict(message).into());
                }
                let id = new_entity_id();
                endpoints::insert(conn, &id, &endpoint, &keys).await?;
                let endpoint =
                    endpoints::find(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                Ok(MutationResult::new(endpoint, &id))
            })
        })
        .await
    }

    /// Returns a page of the endpoints, the oldest first, and the number of all that match.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(
        &self,
        filter: WebhookFilter,
        page: Page,
    ) -> Result<(Vec<WebhookEndpoint>, i64), StoreError> {
        let filter = WebhookFilter { consumer: filter.consumer.map(|name| key(&name)), ..filter };
        self.database
            .read(operation("list"), move |conn| {
                Box::pin(async move { endpoints::list(conn, &filter, page).await })
            })
            .await
    }

    /// Returns the endpoint with this id.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn get(&self, id: &str) -> Result<Option<WebhookEndpoint>, StoreError> {
        let id = key(id);
        self.database
            .read(operation("get"), move |conn| Box::pin(async move { endpoints::find(conn, &id).await }))
            .await
    }

    /// Returns what messages to an endpoint need, whatever its state; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`list`](Self::list); [`StoreError::Database`] also if its secrets cannot be decrypted.
    pub async fn target(&self, id: &str) -> Result<Option<WebhookTarget>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation("target"), move |conn| {
                Box::pin(async move { endpoints::target(conn, &id, &keys).await })
            })
            .await
    }

    /// Changes an endpoint. With another address it must be verified anew, and gets nothing until then; of another
    /// consumer it has no deliveries and attempts any more.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
    pub async fn update(
        &self,
        id: &str,
        change: WebhookChange,
        mutation: Mutation,
    ) -> Result<WebhookEndpoint, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("update"), mutation, move |conn| {
            Box::pin(async move {
                let mut endpoint =
                    endpoints::lock(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                let WebhookChange { url, consumer, topics, connector } = change;
                if let Some(url) = url.filter(|url| *url != endpoint.url) {
                    endpoint.url = url;
                    endpoint.state = WebhookState::Unverified.name().to_owned();
                    endpoint.reason = Some("its address was changed".to_owned());
                    (endpoint.verified_at, endpoint.failing_since) = (None, None);
                }
                if let Some(consumer) = consumer.filter(|consumer| *consumer != endpoint.consumer) {
                    // The next one may read and replay what is there.
                    lists::forget(conn, &id).await?;
                    endpoint.consumer = consumer;
                }
                endpoint.connector = connector.unwrap_or(endpoint.connector);
                endpoints::save(conn, &endpoint).await?;
                if let Some(topics) = topics {
                    topic_rows::replace(conn, &id, &topics).await?;
                }
                let endpoint =
                    endpoints::find(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                Ok(MutationResult::new(endpoint, &id))
            })
        })
        .await
    }

    /// Deletes an endpoint. What it was to get is not sent any more.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        let id = key(id);
        mutate(&self.database, operation("delete"), mutation, move |conn| {
            Box::pin(async move {
                match endpoints::delete(conn, &id).await? {
                    true => Ok(MutationResult::new((), &id)),
                    false => Err(WebhookEndpoint::absent(&id).into()),
                }
            })
        })
        .await
    }

    /// Replaces the secret of an endpoint. The former one signs as well for `overlap`.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
    pub async fn rotate(
        &self,
        id: &str,
        secret: String,
        overlap: Duration,
        mutation: Mutation,
    ) -> Result<WebhookEndpoint, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        let overlap_ms = i64::try_from(overlap.as_millis()).unwrap_or(i64::MAX);
        mutate(&self.database, operation("rotate"), mutation, move |conn| {
            Box::pin(async move {
                endpoints::lock(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                endpoints::rotate(conn, &id, &secret, overlap_ms, &keys).await?;
                let endpoint =
                    endpoints::find(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                Ok(MutationResult::new(endpoint, &id))
            })
        })
        .await
    }

    /// Enables an endpoint. `verified_url`: the address that has echoed its challenge, or `None` if an operator answers for
    /// it.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if its address was changed meanwhile; the other variants if the
    /// database fails.
    pub async fn enable(
        &self,
        id: &str,
        verified_url: Option<String>,
        mutation: Mutation,
    ) -> Result<WebhookEndpoint, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("enable"), mutation, move |conn| {
            Box::pin(async move {
                let mut endpoint =
                    endpoints::lock(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                if verified_url.as_ref().is_some_and(|url| *url != endpoint.url) {
                    let message = format!("webhook endpoint '{id}' has another address now: enable it again");
                    return Err(ServiceError::conflict(message).into());
                }
                if verified_url.is_some() {
                    endpoint.verified_at = Some(Timestamp::from_naive(clock::now(conn).await?));
                }
                endpoint.state = WebhookState::Enabled.name().to_owned();
                (endpoint.reason, endpoint.failing_since) = (None, None);
                endpoints::save(conn, &endpoint).await?;
                Ok(MutationResult::new(endpoint, &id))
            })
        })
        .await
    }

    /// Notes the outcome of the challenge at the registration of an endpoint, if it still has this address and is not
    /// verified: enables it, or keeps the reason. Returns the endpoint.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
    pub async fn note_challenge(
        &self,
        id: &str,
        url: String,
        outcome: Result<(), String>,
    ) -> Result<WebhookEndpoint, StoreError> {
        let id = key(id);
        self.database
            .write(operation("note_challenge"), move |conn| {
                Box::pin(async move {
                    let mut endpoint =
                        endpoints::lock(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                    let is_unverified = endpoint.parsed_state() == Some(WebhookState::Unverified);
                    if is_unverified && endpoint.url == url {
                        endpoint.reason = outcome.as_ref().err().cloned();
                        if outcome.is_ok() {
                            endpoint.state = WebhookState::Enabled.name().to_owned();
                            endpoint.verified_at = Some(Timestamp::from_naive(clock::now(conn).await?));
                            let why = "it echoed its challenge";
                            record(conn, deliveries::audit_entry(AuditAction::Enable, &id, why), &id).await?;
                        }
                        endpoints::save(conn, &endpoint).await?;
                    }
                    Ok(UnitOutcome::Keep(endpoint))
                })
            })
            .await
    }

    /// Accepts an event for the endpoints of its topic. Returns the number of endpoints that get it, or have got it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement. The same event may be accepted again then.
    pub async fn accept(&self, event: WebhookEvent) -> Result<usize, StoreError> {
        let step: TransactionFn<_, _> = |conn, event| Box::pin(deliveries::accept(conn, event));
        self.database.transact(operation("accept"), event, step).await
    }

    /// Returns enabled endpoints with deliveries that are due, `limit` at most.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn due_endpoints(&self, limit: i64) -> Result<Vec<DueEndpoint>, StoreError> {
        self.database
            .read(operation("due_endpoints"), move |conn| Box::pin(deliveries::due_endpoints(conn, limit)))
            .await
    }

    /// Claims due deliveries of endpoints for `lease`. An endpoint whose secrets cannot be read is left out and named.
    ///
    /// # Errors
    /// Those of [`accept`](Self::accept). Deliveries may be claimed then, and are due again after the lease.
    pub async fn claim(
        &self,
        holder: &str,
        endpoints: Vec<EndpointRoom>,
        lease: Duration,
    ) -> Result<WebhookClaims, StoreError> {
        let (holder, keys) = (holder.to_owned(), Arc::clone(&self.keys));
        let request = WebhookClaimRequest { holder, endpoints, lease, keys };
        let step: TransactionFn<_, _> = |conn, request| Box::pin(deliveries::claim(conn, request));
        self.database.transact(operation("claim"), request, step).await
    }

    /// Writes the end of an attempt, if its claim is still valid.
    ///
    /// # Errors
    /// Those of [`accept`](Self::accept). The delivery is attempted again then, after its lease.
    pub async fn record_end(&self, end: WebhookAttemptEnd) -> Result<RecordedAttempt, StoreError> {
        let step: TransactionFn<_, _> = |conn, end| Box::pin(deliveries::record_end(conn, end));
        self.database.transact(operation("record_end"), end, step).await
    }

    /// Writes the attempt at a test event.
    ///
    /// # Errors
    /// Those of [`accept`](Self::accept).
    pub async fn record_test(&self, attempt: NewWebhookAttempt) -> Result<(), StoreError> {
        self.database
            .write(operation("record_test"), move |conn| {
                Box::pin(
                    async move { deliveries::insert_attempt(conn, &attempt).await.map(UnitOutcome::Keep) },
                )
            })
            .await
    }

    /// Returns a page of the attempts at an endpoint, the newest first, and the number of all.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn attempts(&self, id: &str, page: Page) -> Result<(Vec<WebhookAttempt>, i64), StoreError> {
        let id = key(id);
        self.database
            .read(operation("attempts"), move |conn| {
                Box::pin(async move { lists::list_attempts(conn, &id, page).await })
            })
            .await
    }

    /// Returns a page of the deliveries to an endpoint, the newest first, and the number of all that match.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn deliveries(
        &self,
        id: &str,
        state: Option<WebhookDeliveryState>,
        page: Page,
    ) -> Result<(Vec<WebhookDelivery>, i64), StoreError> {
        let id = key(id);
        self.database
            .read(operation("deliveries"), move |conn| {
                Box::pin(async move { lists::list_deliveries(conn, &id, state, page).await })
            })
            .await
    }

    /// Makes the ended deliveries of an enabled endpoint due again that were accepted since an instant: every one, or the
    /// dead letters alone. One call takes ten thousand at most.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such endpoint, 409 if it is not enabled; the other variants if the
    /// database fails.
    pub async fn replay(
        &self,
        id: &str,
        since: Timestamp,
        is_failed_only: bool,
        mutation: Mutation,
    ) -> Result<WebhookReplay, StoreError> {
        let id = key(id);
        mutate(&self.database, operation("replay"), mutation, move |conn| {
            Box::pin(async move {
                let endpoint =
                    endpoints::lock(conn, &id).await?.ok_or_else(|| WebhookEndpoint::absent(&id))?;
                if endpoint.parsed_state() != Some(WebhookState::Enabled) {
                    let message = format!("webhook endpoint '{id}' is {}: enable it first", endpoint.state);
                    return Err(ServiceError::conflict(message).into());
                }
                let value = lists::replay(conn, &id, since.naive(), is_failed_only, REPLAYED).await?;
                Ok(MutationResult { value, id: Some(id), facts: ChangeFacts::default() })
            })
        })
        .await
    }

    /// Returns the numbers of endpoints and deliveries.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn counts(&self) -> Result<WebhookCounts, StoreError> {
        self.database.read(operation("counts"), |conn| Box::pin(lists::counts(conn))).await
    }

    /// Deletes the deliveries that ended, and the attempts that were made, more than `hours` ago. Returns the number of
    /// deleted rows, roughly. Works in steps of at most `chunk` rows. Before, the deliveries to endpoints that do not exist
    /// any more are ended.
    ///
    /// # Errors
    /// Those of [`accept`](Self::accept). Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let orphans = self.database.write(operation("end_orphans"), |conn| {
            Box::pin(async move { pending::end_orphans(conn).await.map(UnitOutcome::Keep) })
        });
        orphans.await?;
        self.database
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(async move {
                    let before = clock::hours_ago(conn, hours).await?;
                    lists::delete_expired(conn, before, chunk).await
                })
            })
            .await
    }
}
