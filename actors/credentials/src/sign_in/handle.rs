//! The handle that channels hold.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Address, ChildSpec, Placement, SpawnError, Tree};
use futures_util::future::BoxFuture;
use slog::Logger;
use svc_auth::{IssuerAccess, IssuerDocument, ProviderAccess, ProviderAnswer, ProviderRequest};
use svc_outbound::{ClientOptions, Outbound, SetupError, check_url};

use crate::sign_in::caller::ProviderCaller;
use crate::sign_in::issuer_slot::{IssuerDirectory, IssuerSlot, READ_LIMIT, SharedIssuerSlot};
use crate::sign_in::messages::{PrefetchIssuer, ReadIssuer, SendToProvider};

/// Requests of sign-ins at the same time, each one message.
const MAILBOX: usize = 16_384;
/// The time limit of a request to a provider.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// The settings of the network of sign-ins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The factory of HTTP clients.
    pub outbound: Outbound,
    /// Admits providers at private addresses.
    pub allow_private: bool,
}

/// A failed start of the network of sign-ins.
#[derive(Debug, thiserror::Error)]
pub enum SignInStartError {
    /// The client cannot be set up.
    #[error(transparent)]
    Client(#[from] SetupError),
    /// The actor could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// The way to all identity providers. Cheap to clone; survives restarts of its actor.
#[derive(Clone)]
pub struct SignInNetwork {
    directory: Arc<IssuerDirectory>,
    caller: Address<ProviderCaller>,
    allow_private: bool,
}

impl SignInNetwork {
    /// Adds the actor to a tree, at `path`. The runtime of `at` drives the connections, so it must last as long as the
    /// actor.
    ///
    /// # Errors
    /// [`SignInStartError::Client`] if no client can be set up, [`SignInStartError::Spawn`] if the path is taken or the
    /// placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        settings: Settings,
        log: Logger,
    ) -> Result<Self, SignInStartError> {
        let Settings { outbound, allow_private } = settings;
        let client = outbound.client(ClientOptions { allow_private, timeout: REQUEST_LIMIT })?;
        let factory = move |_| {
            let caller = ProviderCaller::new(client.clone(), log.clone());
            std::future::ready(Ok::<_, actix_supervision::StartError>(caller))
        };
        let caller = tree.spawn(path, ChildSpec::new().mailbox(MAILBOX), at, factory).await?;
        Ok(Self { directory: Arc::default(), caller, allow_private })
    }
}

impl ProviderAccess for SignInNetwork {
    fn check(&self, url: &str) -> Result<(), String> {
        check_url(url, self.allow_private).map(drop).map_err(|error| error.to_string())
    }

    fn issuer(&self, issuer: &str) -> Result<Arc<dyn IssuerAccess>, String> {
        let address = check_url(&IssuerDocument::address(issuer), self.allow_private);
        let address = address.map_err(|error| error.to_string())?;
        let create = || IssuerSlot::new(issuer, address.clone());
        let slot = self.directory.get_or_insert(issuer, |_| true, create);
        let issuer = SharedIssuer { slot, caller: self.caller.clone() };
        issuer.prefetch();
        Ok(Arc::new(issuer))
    }

    fn send(&self, request: ProviderRequest) -> BoxFuture<'_, Result<ProviderAnswer, String>> {
        Box::pin(async move {
            let sent = self.caller.ask(SendToProvider(request)).await;
            sent.unwrap_or_else(|error| Err(format!("providers cannot be asked now: {error}")))
        })
    }
}

/// A user's hold on the document of an issuer.
struct SharedIssuer {
    slot: Arc<SharedIssuerSlot>,
    caller: Address<ProviderCaller>,
}

impl SharedIssuer {
    /// Has the document read in the background if that is due. If the actor is down, a later request asks again.
    fn prefetch(&self) {
        if self.slot.is_prefetch_due() {
            let _ = self.caller.cast(PrefetchIssuer(Arc::clone(&self.slot)));
        }
    }
}

impl IssuerAccess for SharedIssuer {
    fn document(&self) -> BoxFuture<'_, Option<Arc<IssuerDocument>>> {
        Box::pin(async move {
            if let Some(document) = self.slot.document() {
                self.prefetch();
                return Some(document);
            }
            let settled = || self.slot.is_settled().then(|| self.slot.document());
            let read = async || {
                let _ = self.caller.ask_within(ReadIssuer(Arc::clone(&self.slot)), READ_LIMIT).await;
                self.slot.document()
            };
            self.slot.single_flight(settled, read).await
        })
    }
}
