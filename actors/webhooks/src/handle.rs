//! The handle of webhooks.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_supervision::{ChildSpec, Placement, SpawnError, StartError, Tree};
use serde_json::json;
use slog::Logger;
use svc_auth::message_id;
use svc_cluster::nodes::NodeHandle;
use svc_connectors::{OutsideClass, OutsideOutcome};
use svc_model::{ServiceError, Timestamp};
use svc_store::{
    NewWebhookAttempt, Store, StoreError, WebhookEndpoint, WebhookEvent, WebhookState, WebhookTarget,
    Webhooks,
};
use svc_traces::Traces;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use uuid::Uuid;

use crate::delivery::{WebhookDeliverer, make_request, send_within};
use crate::message::{CHALLENGE, TEST, is_echo, make_body, make_challenge};
use crate::metrics::WebhookMetrics;
use crate::order_pace::OrderPace;
use crate::sender::WebhookSender;
use crate::settings::Settings;
use crate::shared::{MOST_WRITES, WebhookShared};

/// The services that webhooks are made of.
pub struct WebhookParts {
    /// The database.
    pub store: Store,
    /// The lease of this process, whose id claims carry.
    pub nodes: NodeHandle,
    /// Accepts the reports of disabled endpoints.
    pub traces: Traces,
    /// Calls the endpoints.
    pub sender: Arc<dyn WebhookSender>,
    pub settings: Settings,
    pub metrics: WebhookMetrics,
    /// The logger.
    pub log: Logger,
}

/// The outcome of a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedEndpoint {
    /// The address that was asked.
    pub url: String,
    /// The reason why it is not verified.
    pub outcome: Result<(), String>,
}

/// The outcome of a test event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentTest {
    pub attempt: NewWebhookAttempt,
    /// True if the endpoint answered with 2xx.
    pub is_delivered: bool,
}

/// The webhooks of this node. Cheap to clone; survives restarts of the actor.
#[derive(Clone)]
pub struct WebhookHandle {
    shared: Arc<WebhookShared>,
}

impl WebhookHandle {
    /// Adds the actor at `path` of a tree.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken, the placement is gone, or a needed node does not exist.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        parts: WebhookParts,
    ) -> Result<Self, SpawnError> {
        let WebhookParts { store, nodes, traces, sender, settings, metrics, log } = parts;
        let spec = ChildSpec::new().needs(&settings.needs);
        let webhooks = store.webhooks();
        let shared = Arc::new(WebhookShared {
            webhooks,
            nodes,
            traces,
            sender,
            settings,
            metrics,
            writes: Semaphore::new(MOST_WRITES),
            orders: OrderPace::default(),
            log,
            due: Notify::new(),
            is_looking: AtomicBool::new(true),
            has_endpoints: AtomicBool::default(),
        });
        let of_actor = Arc::clone(&shared);
        let factory = move |_| ready(Ok::<_, StartError>(WebhookDeliverer::new(Arc::clone(&of_actor))));
        tree.spawn(path, spec, at, factory).await?;
        Ok(Self { shared })
    }

    /// Returns the stored endpoints and deliveries.
    pub fn stored(&self) -> &Webhooks {
        &self.shared.webhooks
    }

    /// Returns `true` if this node delivers, `false` if it cannot look for deliveries; `None` while there are no endpoints,
    /// as last counted.
    pub fn is_well(&self) -> Option<bool> {
        let has_endpoints = self.shared.has_endpoints.load(Ordering::Relaxed);
        has_endpoints.then(|| self.shared.is_looking.load(Ordering::Relaxed))
    }

    /// Wakes the actor of this node: deliveries may be due.
    pub fn wake(&self) {
        self.shared.due.notify_one();
    }

    /// Admits an order of a consumer about one of its endpoints: each once in a second.
    ///
    /// # Errors
    /// 429 for one that comes sooner.
    pub fn admit_order(&self, order: &str, endpoint: &str) -> Result<(), ServiceError> {
        match self.shared.orders.admit(order, endpoint, Instant::now()) {
            true => Ok(()),
            false => Err(ServiceError::rate_limited()),
        }
    }

    /// Accepts an event for the endpoints of its topic. When this returns, its rows are on disk. Returns the number of the
    /// endpoints.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails. The same event may be accepted again then, and adds nothing.
    pub async fn accept(&self, event: WebhookEvent) -> Result<usize, StoreError> {
        let endpoints = self.shared.webhooks.accept(event).await?;
        self.shared.metrics.events.inc();
        if endpoints > 0 {
            self.wake();
        }
        Ok(endpoints)
    }

    /// Sends a challenge to an endpoint, whatever its state. It is verified if its answer is a 2xx that echoes it.
    ///
    /// # Errors
    /// 404 if there is no such endpoint; the error of the database.
    pub async fn verify(&self, id: &str) -> Result<VerifiedEndpoint, ServiceError> {
        let target = self.target(id).await?;
        let challenge = make_challenge();
        let data = json!({"challenge": challenge});
        let (_, outcome) = self.call(&target, CHALLENGE, &data).await;
        let outcome = match outcome.class {
            OutsideClass::Accepted if is_echo(&outcome.body, &challenge) => Ok(()),
            OutsideClass::Accepted => Err("its answer does not echo the challenge".to_owned()),
            _ => Err(reason_of(&outcome)),
        };
        Ok(VerifiedEndpoint { url: target.url, outcome })
    }

    /// Sends a test event to an endpoint that is not unverified, and stores the attempt.
    ///
    /// # Errors
    /// 404 if there is no such endpoint, 409 if it is not verified; the error of the database.
    pub async fn send_test(&self, id: &str) -> Result<SentTest, ServiceError> {
        let endpoint = self.shared.webhooks.get(id).await?.ok_or_else(|| WebhookEndpoint::absent(id))?;
        if endpoint.parsed_state() == Some(WebhookState::Unverified) {
            let message =
                format!("webhook endpoint '{id}' is not verified, and gets nothing until it is enabled");
            return Err(ServiceError::conflict(message));
        }
        let target = self.target(id).await?;
        let started = Instant::now();
        let (webhook_id, outcome) = self.call(&target, TEST, &json!({})).await;
        let is_delivered = outcome.class == OutsideClass::Accepted;
        let attempt = NewWebhookAttempt {
            endpoint_id: target.endpoint_id,
            webhook_id,
            topic: TEST.to_owned(),
            attempt: 0,
            status: outcome.status.map(i64::from),
            error: (!is_delivered).then(|| reason_of(&outcome)),
            duration_ms: i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX),
        };
        self.shared.webhooks.record_test(attempt.clone()).await?;
        Ok(SentTest { attempt, is_delivered })
    }

    async fn target(&self, id: &str) -> Result<WebhookTarget, ServiceError> {
        self.shared.webhooks.target(id).await?.ok_or_else(|| WebhookEndpoint::absent(id))
    }

    /// Sends a message of the service itself once. Returns its id with the outcome.
    async fn call(
        &self,
        target: &WebhookTarget,
        kind: &str,
        data: &serde_json::Value,
    ) -> (String, OutsideOutcome) {
        let settings = &self.shared.settings;
        let webhook_id = message_id(&Uuid::new_v4().to_string());
        let body = make_body(kind, Timestamp::now(), data);
        let mut request = make_request(target, &webhook_id, &body, settings);
        request.place_wait = settings.attempt_timeout;
        let outcome = send_within(&self.shared, &request, Instant::now()).await;
        (webhook_id, outcome)
    }
}

impl fmt::Debug for WebhookHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookHandle").finish_non_exhaustive()
    }
}

fn reason_of(outcome: &OutsideOutcome) -> String {
    outcome.reason.clone().unwrap_or_else(|| "no 2xx".to_owned())
}
