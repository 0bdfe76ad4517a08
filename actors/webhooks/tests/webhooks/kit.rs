//! Nodes over one SQLite file, and the receiver of their calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Placement, Tree};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use svc_cluster::nodes::{self, NodeHandle, NodeMetrics};
use svc_connectors::{OutsideClass, OutsideOutcome, OutsideRequest};
use svc_model::{AuditAction, AuditResource, Page};
use svc_store::{AuditEntry, AuditReceipt, Mutation, NewWebhookEndpoint, Store, WebhookEvent};
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, log, supervise_traces, trace_settings};
use svc_traces::TraceMetrics;
use svc_webhooks::{Settings, WebhookHandle, WebhookMetrics, WebhookParts, WebhookSender};
use tokio::sync::oneshot;

/// Time limit of a test.
const LIMIT: Duration = Duration::from_secs(120);
/// The topic of all events.
const TOPIC: &str = "order.paid";

/// Runs a case on a new file.
pub(crate) fn run(case: impl AsyncFnOnce(TestWorld)) {
    TestWorld::over_file().run(LIMIT, async |world| case(world).await);
}

/// A request that the receiver got.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedWebhook {
    pub(crate) id: String,
    pub(crate) body: String,
    pub(crate) secrets: Vec<String>,
}

/// The answer to a request.
pub(crate) enum ReceiverAnswer {
    /// An answer of this class.
    Class(OutsideClass),
    /// A 2xx that echoes the challenge.
    Echo,
    /// The answer that comes through the gate.
    Held(oneshot::Receiver<OutsideClass>),
}

/// Answers a held request.
pub(crate) struct AnswerGate(oneshot::Sender<OutsideClass>);

impl AnswerGate {
    pub(crate) fn answer(self, class: OutsideClass) {
        self.0.send(class).expect("the request still waits");
    }
}

/// The receiver of all endpoints of a node.
pub(crate) struct TestReceiver {
    seen: Mutex<Vec<ReceivedWebhook>>,
    next: Mutex<VecDeque<ReceiverAnswer>>,
    usual: Mutex<OutsideClass>,
}

impl TestReceiver {
    fn new() -> Self {
        Self { seen: Mutex::default(), next: Mutex::default(), usual: Mutex::new(OutsideClass::Accepted) }
    }

    pub(crate) fn list_received(&self) -> Vec<ReceivedWebhook> {
        self.seen.lock().clone()
    }

    pub(crate) fn answer_next(&self, answer: ReceiverAnswer) {
        self.next.lock().push_back(answer);
    }

    pub(crate) fn answer_all(&self, class: OutsideClass) {
        *self.usual.lock() = class;
    }

    pub(crate) fn hold_next(&self) -> AnswerGate {
        let (sender, receiver) = oneshot::channel();
        self.answer_next(ReceiverAnswer::Held(receiver));
        AnswerGate(sender)
    }
}

impl WebhookSender for TestReceiver {
    fn send<'s>(&'s self, request: &'s OutsideRequest) -> LocalBoxFuture<'s, OutsideOutcome> {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        let secrets = request.secrets.iter().map(|secret| secret.expose().to_owned()).collect();
        self.seen.lock().push(ReceivedWebhook { id: request.id.clone(), body: body.clone(), secrets });
        let answer = self.next.lock().pop_front();
        let usual = *self.usual.lock();
        Box::pin(async move {
            match answer {
                None => outcome(usual, Bytes::new()),
                Some(ReceiverAnswer::Class(class)) => outcome(class, Bytes::new()),
                Some(ReceiverAnswer::Held(gate)) => outcome(gate.await.unwrap(), Bytes::new()),
                Some(ReceiverAnswer::Echo) => {
                    let body: Value = serde_json::from_str(&body).unwrap();
                    outcome(OutsideClass::Accepted, body["data"].to_string().into())
                }
            }
        })
    }
}

fn outcome(class: OutsideClass, body: Bytes) -> OutsideOutcome {
    let status = match class {
        OutsideClass::Accepted => Some(200),
        OutsideClass::Gone => Some(410),
        OutsideClass::Failed => Some(500),
        OutsideClass::Forbidden | OutsideClass::Deferred => None,
    };
    let reason = (class != OutsideClass::Accepted).then(|| format!("answered {status:?}"));
    OutsideOutcome { class, status, retry_after: None, reason, body }
}

/// One process of the service.
pub(crate) struct TestNode {
    pub(crate) store: Store,
    pub(crate) handle: WebhookHandle,
    pub(crate) receiver: Arc<TestReceiver>,
    metrics: WebhookMetrics,
    _tree: Tree,
}

impl TestNode {
    pub(crate) async fn start(world: &TestWorld, on_disabled: Option<&str>) -> Self {
        let tree = build_tree(Vec::new());
        let store = world.store(&tree).await;
        let traces = supervise_traces(&tree, &store, false, trace_settings(), TraceMetrics::default()).await;
        let lease = nodes::Settings {
            id: nodes::Settings::new_id("webhooks"),
            version: "test",
            lease: Duration::from_secs(15),
            is_alone: false,
            needs: vec!["store".to_owned()],
        };
        let here = Placement::Here;
        let of_node = NodeMetrics::default();
        let nodes = NodeHandle::supervise(&tree, "senders", here.clone(), &store, lease, of_node, log())
            .await
            .unwrap();
        let (receiver, metrics) = (Arc::new(TestReceiver::new()), WebhookMetrics::default());
        let parts = WebhookParts {
            store: store.clone(),
            nodes,
            traces,
            sender: Arc::clone(&receiver) as Arc<dyn WebhookSender>,
            settings: Settings {
                retry_schedule: vec![Duration::from_millis(10)],
                disable_after: Duration::from_secs(3600),
                on_disabled: on_disabled.map(Into::into),
                attempt_timeout: Duration::from_secs(60),
                max_concurrent: 16,
                max_concurrent_per_host: 2,
                needs: vec!["store".to_owned()],
            },
            metrics: metrics.clone(),
            log: log(),
        };
        let handle = WebhookHandle::supervise(&tree, "webhooks", here, parts).await.unwrap();
        Self { store, handle, receiver, metrics, _tree: tree }
    }

    /// Registers an endpoint of a host of its own that has echoed its challenge.
    pub(crate) async fn endpoint(&self, name: &str) -> String {
        let url = format!("https://{name}.example/in");
        let new = NewWebhookEndpoint {
            url: url.clone(),
            consumer: None,
            topics: vec![TOPIC.to_owned()],
            connector: "customers".to_owned(),
            secret: format!("whsec_{name}"),
        };
        let id = self.store.webhooks().create(new, 100, mutation()).await.unwrap().id;
        self.store.webhooks().note_challenge(&id, url, Ok(())).await.unwrap();
        id
    }

    pub(crate) async fn accept(&self, id: &str) -> usize {
        let event = WebhookEvent {
            webhook_id: id.to_owned(),
            topic: TOPIC.to_owned(),
            consumer: None,
            payload: "{\"n\":1}".to_owned(),
        };
        self.handle.accept(event).await.unwrap()
    }

    pub(crate) fn wake(&self) {
        self.handle.wake();
    }

    /// The states of the deliveries to an endpoint.
    pub(crate) async fn states(&self, endpoint: &str) -> Vec<String> {
        let (rows, _) = self.store.webhooks().deliveries(endpoint, None, Page::default()).await.unwrap();
        rows.into_iter().map(|row| row.state).collect()
    }

    /// Attempts that go on.
    pub(crate) fn in_flight(&self) -> i64 {
        self.metrics.in_flight()
    }
}

fn mutation() -> Mutation {
    Mutation::new(AuditEntry {
        principal: "test".to_owned(),
        action: AuditAction::Create.name().to_owned(),
        resource_type: AuditResource::Webhook.name().to_owned(),
        resource_id: String::new(),
        details: None,
        receipt: AuditReceipt::default(),
    })
}
