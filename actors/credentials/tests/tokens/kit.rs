//! Nodes over one SQLite file, and a provider that ends everything when a refresh token comes twice.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use actix_supervision::Tree;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use svc_credentials::tokens::{Settings, TokenMetrics, TokenSource, Tokens};
use svc_model::config::connector::{ConnectorConfig, HttpAuth, OAuth2};
use svc_model::{ConnectorContent, ConnectorType};
use svc_outbound::{Outbound, Trust, Url};
use svc_store::Store;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, log};
use svc_testworld::definitions::{connector_content, mutation};
use svc_testworld::metrics::metric_sum;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Time limit of a test.
const LIMIT: Duration = Duration::from_secs(120);

/// A database over which nodes start, with the connector `c`.
pub(crate) struct TokenFixture(TestWorld);

/// One process, as far as tokens are concerned.
pub(crate) struct TokenNode {
    /// Kept for as long as its actors are to run.
    _tree: Tree,
    pub(crate) tokens: Tokens,
    pub(crate) store: Store,
    pub(crate) errors: Arc<AtomicUsize>,
    metrics: Registry,
}

/// Runs a test over a database with the connector `c`.
pub(crate) fn run(test: impl AsyncFnOnce(&TokenFixture)) {
    TestWorld::over_file().run(LIMIT, async |world| {
        let world = TokenFixture(world);
        let store = world.node().await.store;
        store.connectors().create(Some("c".into()), content("c"), mutation()).await.unwrap();
        test(&world).await;
    });
}

impl Deref for TokenFixture {
    type Target = TestWorld;

    fn deref(&self) -> &TestWorld {
        &self.0
    }
}

pub(crate) fn content(name: &str) -> ConnectorContent {
    connector_content(name, "http", json!({"url": "http://a"}))
}

impl TokenFixture {
    /// A further process on the database.
    pub(crate) async fn node(&self) -> TokenNode {
        let tree = build_tree(Vec::new());
        let store = self.store(&tree).await;
        let errors = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&errors);
        let settings = Settings {
            store: store.clone(),
            needs: "store".to_owned(),
            outbound: Outbound::new(&Trust::Only(String::new())).unwrap(),
            holder: "node".to_owned(),
            errors: Arc::new(move |reason| {
                assert_eq!(reason, svc_model::ErrorReason::OauthStatePersist);
                counted.fetch_add(1, Ordering::SeqCst);
            }),
        };
        let (obtained, mut metrics) = (TokenMetrics::default(), Registry::default());
        obtained.register(&mut metrics);
        let at = self.thread();
        let tokens = Tokens::supervise(&tree, "tokens", at, settings, obtained, log()).await.unwrap();
        TokenNode { _tree: tree, tokens, store, errors, metrics }
    }

    /// Returns the row of `c`.
    pub(crate) fn row(&self) -> Option<Value> {
        let sql = "SELECT state_json FROM connector_oauth_state WHERE connector_name = 'c'";
        let text: Option<String> = self.connect().query_row(sql, [], |row| row.get(0)).ok();
        text.map(|text| serde_json::from_str(&text).unwrap())
    }
}

impl TokenNode {
    /// The source of the connector `c`.
    pub(crate) fn source(&self, oauth: &OAuth2) -> TokenSource {
        let url: Url = oauth.token_url.parse().unwrap();
        self.tokens.source("c", oauth, &url, true)
    }

    /// Requests with this outcome.
    pub(crate) fn count(&self, outcome: &str) -> f64 {
        metric_sum(&self.metrics, &["connector=\"c\"", &format!("outcome=\"{outcome}\"")])
    }
}

/// The block of a connector whose token endpoint is this server.
pub(crate) fn oauth(upstream: &Upstream, more: Value) -> OAuth2 {
    let mut auth = json!({"type": "oauth2", "grant": "client_credentials", "token_url": upstream.url("/token"),
        "client_id": "id", "client_secret": "swordfish"});
    for (key, value) in more.as_object().unwrap() {
        auth[key] = value.clone();
    }
    let config = json!({"url": "http://api", "auth": auth});
    let ConnectorConfig::Http(http) = ConnectorConfig::parse(ConnectorType::Http, &config).unwrap() else {
        panic!("not http")
    };
    let Some(HttpAuth::OAuth2(oauth)) = http.auth else { panic!("not oauth2") };
    *oauth
}

/// An answer with a token.
pub(crate) fn granting(token: &str, seconds: u64) -> UpstreamReply {
    UpstreamReply::new(
        200,
        json!({"access_token": token, "expires_in": seconds, "token_type": "bearer"}).to_string(),
    )
}

/// A provider of refresh tokens that are good once: one that comes twice ends the whole family.
#[derive(Clone, Default)]
pub(crate) struct Provider {
    family: Arc<Mutex<Family>>,
    held: Arc<Mutex<Option<Held>>>,
}

/// A request that is to be held.
struct Held {
    /// Notified when it is there.
    tell: UnboundedSender<()>,
    /// Ends when it may go on.
    gate: Receiver<()>,
}

#[derive(Default)]
pub(crate) struct Family {
    live: Option<String>,
    spent: HashSet<String>,
    pub(crate) grants: usize,
    pub(crate) reused: usize,
}

impl Provider {
    /// With the refresh token `seed`, giving tokens for so many seconds.
    pub(crate) fn start(seconds: u64) -> (Self, Upstream) {
        let provider = Self::default();
        provider.family().live = Some("seed".to_owned());
        let serving = provider.clone();
        (provider, Upstream::start(move |asked| serving.answer(asked, seconds)).unwrap())
    }

    pub(crate) fn family(&self) -> MutexGuard<'_, Family> {
        self.family.lock()
    }

    /// Holds the next request until the sender is dropped; the receiver hears of it.
    pub(crate) fn hold(&self) -> (UnboundedReceiver<()>, Sender<()>) {
        let ((tell, told), (open, gate)) = (unbounded_channel(), channel());
        *self.held.lock() = Some(Held { tell, gate });
        (told, open)
    }

    fn answer(&self, asked: &ReceivedRequest, seconds: u64) -> UpstreamReply {
        let held = self.held.lock().take();
        if let Some(Held { tell, gate }) = held {
            let _told = tell.send(());
            let _open = gate.recv();
        }
        let form = asked.text();
        let shown = form.split('&').find_map(|pair| pair.strip_prefix("refresh_token=")).unwrap_or_default();
        let mut family = self.family();
        if family.live.as_deref() != Some(shown) {
            family.reused += usize::from(family.spent.contains(shown));
            family.live = None;
            return UpstreamReply::new(400, r#"{"error": "invalid_grant"}"#);
        }
        family.grants += 1;
        let next = format!("refresh-{}", family.grants);
        family.spent.insert(shown.to_owned());
        family.live = Some(next.clone());
        let token = format!("access-{}", family.grants);
        let body = json!({"access_token": token, "expires_in": seconds, "refresh_token": next});
        UpstreamReply::new(200, body.to_string())
    }
}

/// The block of a connector with the grant `refresh_token`.
pub(crate) fn rotating(upstream: &Upstream, margin: u64) -> OAuth2 {
    oauth(upstream, json!({"grant": "refresh_token", "refresh_token": "seed", "refresh_margin_secs": margin}))
}
