//! The discovery document of one issuer, as its users share it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use svc_auth::{IssuerDocument, MAX_ISSUER_DOCUMENT};
use svc_outbound::{OutboundClient, Url};
use tokio::time::{Instant, timeout};

use crate::keysets::max_age;
use crate::single_flight::{SharedEntry, SharedMap};

/// The issuers in use, by their addresses.
pub(crate) type IssuerDirectory = SharedMap<IssuerSlot>;

/// A slot as its users hold it.
pub(crate) type SharedIssuerSlot = SharedEntry<IssuerSlot>;

/// The time that reading a document may take.
pub(crate) const READ_LIMIT: Duration = Duration::from_secs(5);
/// The time between two attempts.
const RETRY: Duration = Duration::from_secs(5);
/// The life of a document whose answer states none.
const DEFAULT_LIFE: Duration = Duration::from_secs(3600);
/// A shorter life is taken for this one.
const SHORTEST_LIFE: Duration = Duration::from_secs(60);
/// A longer life is taken for this one.
const LONGEST_LIFE: Duration = Duration::from_secs(86_400);

/// A shared document.
pub(crate) struct IssuerSlot {
    issuer: Box<str>,
    address: Url,
    state: ArcSwap<IssuerState>,
    /// Held while the document is read.
    turn: tokio::sync::Mutex<()>,
    /// The earliest time of the next read in the background.
    next_prefetch: Mutex<Option<Instant>>,
}

/// The document at hand, and until when no other is needed.
#[derive(Default)]
struct IssuerState {
    document: Option<Arc<IssuerDocument>>,
    settled_until: Option<Instant>,
}

impl IssuerSlot {
    pub(crate) fn new(issuer: &str, address: Url) -> Self {
        Self {
            issuer: issuer.into(),
            address,
            state: ArcSwap::default(),
            turn: tokio::sync::Mutex::default(),
            next_prefetch: Mutex::default(),
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn document(&self) -> Option<Arc<IssuerDocument>> {
        self.state.load().document.clone()
    }

    /// Returns `true` if no read is due: the document is fresh, or a read failed just now.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.load().settled_until.is_some_and(|until| Instant::now() < until)
    }

    /// Returns `true` if a read in the background should be asked for, and notes that it is.
    pub(crate) fn is_prefetch_due(&self) -> bool {
        if self.is_settled() {
            return false;
        }
        let now = Instant::now();
        let mut next = self.next_prefetch.lock();
        let is_due = next.is_none_or(|next| now >= next);
        if is_due {
            *next = Some(now + RETRY);
        }
        is_due
    }

    /// Reads the document unless that is unnecessary by now.
    ///
    /// # Errors
    /// The reason why there is no new one. The old one stays.
    pub(crate) async fn refresh(&self, client: &OutboundClient) -> Result<(), String> {
        let _turn = self.turn.lock().await;
        if self.is_settled() {
            return Ok(());
        }
        let read = timeout(READ_LIMIT, self.read(client)).await;
        let read = read.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        let (document, life) = match &read {
            Ok((document, life)) => (Some(Arc::clone(document)), *life),
            Err(_) => (self.document(), RETRY),
        };
        let settled_until = Some(Instant::now() + life);
        self.state.store(Arc::new(IssuerState { document, settled_until }));
        read.map(drop)
    }

    async fn read(&self, client: &OutboundClient) -> Result<(Arc<IssuerDocument>, Duration), String> {
        let answer =
            client.get(&self.address, MAX_ISSUER_DOCUMENT).await.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("the answer is {}", answer.status));
        }
        let document =
            IssuerDocument::parse(&answer.body, &self.issuer).map_err(|error| error.to_string())?;
        let life = max_age(&answer.headers).unwrap_or(DEFAULT_LIFE).clamp(SHORTEST_LIFE, LONGEST_LIFE);
        Ok((Arc::new(document), life))
    }
}
