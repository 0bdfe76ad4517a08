//! The way to identity providers, as sign-in uses it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};

use crate::issuer::IssuerDocument;

/// Maximum length of an answer of a provider, in bytes.
pub const MAX_PROVIDER_ANSWER: usize = 65_536;

/// A request to an endpoint of a provider. Holds secrets, so that it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderRequest {
    /// The address, https.
    pub url: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The form to post; `None` sends a GET.
    pub form: Option<String>,
}

/// A complete answer of a provider. Holds secrets, so that it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderAnswer {
    pub status: u16,
    /// The body, at most [`MAX_PROVIDER_ANSWER`] bytes.
    pub body: Vec<u8>,
}

/// The network between this process and identity providers.
pub trait ProviderAccess: Send + Sync {
    /// Checks that an address may be dialled. Does no I/O.
    ///
    /// # Errors
    /// The reason why the address can never be used.
    fn check(&self, url: &str) -> Result<(), String>;

    /// Returns the document of an issuer, shared by all who use it. The first fetch may begin now; this does not wait for
    /// it.
    ///
    /// # Errors
    /// The reason why the issuer can never be asked.
    fn issuer(&self, issuer: &str) -> Result<Arc<dyn IssuerAccess>, String>;

    /// Sends one request and reads the answer, whatever its status.
    fn send(&self, request: ProviderRequest) -> BoxFuture<'_, Result<ProviderAnswer, String>>;
}

/// The document of one issuer.
pub trait IssuerAccess: Send + Sync {
    /// Returns the document at hand; waits for the first one. `None` if it cannot be had now.
    fn document(&self) -> BoxFuture<'_, Option<Arc<IssuerDocument>>>;
}

/// No network: sign-ins are refused when their channel is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProviderAccess;

const UNAVAILABLE: &str = "identity providers cannot be reached from here";

impl ProviderAccess for NoProviderAccess {
    fn check(&self, _: &str) -> Result<(), String> {
        Err(UNAVAILABLE.to_owned())
    }

    fn issuer(&self, _: &str) -> Result<Arc<dyn IssuerAccess>, String> {
        Err(UNAVAILABLE.to_owned())
    }

    fn send(&self, _: ProviderRequest) -> BoxFuture<'_, Result<ProviderAnswer, String>> {
        Box::pin(ready(Err(UNAVAILABLE.to_owned())))
    }
}
