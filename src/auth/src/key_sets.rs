//! The keys of token issuers, as an authenticator asks for them.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A parsed key set (RFC 7517). Keys that cannot be used are left out.
#[derive(Debug, Default)]
pub struct Keys {}

/// Where key sets come from.
pub trait KeySets: Send + Sync {
    /// The key set at an address; nothing is fetched yet.
    ///
    /// # Errors
    /// Why the address can never be used.
    fn at(&self, url: &str) -> Result<Arc<dyn KeySet>, String>;
}

/// The key set of one issuer, shared by every channel that names its address.
pub trait KeySet: Send + Sync {
    /// The keys, while they are fresh. Does no I/O.
    fn fresh(&self) -> Option<Arc<Keys>>;

    /// Fresh keys, fetched when need be; stale ones when that fails; `None` when there never were any.
    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Keys>>>;

    /// For a key id that `seen` does not have: newer keys than those, fetched unless that happened a short time ago;
    /// else the keys at hand.
    fn renew<'s>(&'s self, seen: &'s Arc<Keys>) -> BoxFuture<'s, Option<Arc<Keys>>>;
}
