//! The `auth` block made ready.

use serde_json::{Map, Value};
use svc_model::config::AuthConfig;
use svc_secrets::Resolver;

use crate::key_sets::KeySets;
use crate::reason::Reason;

/// What a request presents.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'r> {
    /// Header names in lower case with their raw values, in the order received.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as received.
    pub body: &'r [u8],
    /// Now, in seconds of the Unix time.
    pub now: i64,
}

/// Who called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The verified claims of a token; `None` where no token was asked for or none was needed.
    pub claims: Option<Map<String, Value>>,
}

/// The `auth` block of a channel, ready to verify. Shared by all threads.
#[derive(Debug)]
pub struct Authenticator {}

impl Authenticator {
    /// Resolves references and checks keys.
    ///
    /// # Errors
    /// The reason to quarantine the channel: it names the field and never a value.
    pub fn build(
        _config: &AuthConfig,
        _resolver: &dyn Resolver,
        _key_sets: &dyn KeySets,
    ) -> Result<Self, String> {
        Err("auth: not built yet".to_owned())
    }

    /// Verifies what a request presents.
    ///
    /// # Errors
    /// Why the caller is refused; for metrics and traces.
    pub async fn authenticate(&self, _request: Presented<'_>) -> Result<Identity, Reason> {
        Err(Reason::Missing)
    }
}
