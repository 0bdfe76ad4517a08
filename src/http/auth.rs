//! Admin credentials: the presented key, its validity and its rights.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, Uri};
use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use svc_model::{ClientNetworks, Code, ServiceError};
use tokio::time::Instant;

use super::limits::lockout::Lockout;
use super::open_admin::OpenAdminHosts;
use crate::config::{self, AdminKey, KeyDigest, key_id};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The rights of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAccess {
    /// Reads and changes.
    Full,
    /// Reads alone.
    ReadOnly,
}

impl AdminAccess {
    /// Returns the name in bodies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read_only",
        }
    }
}

/// The author of a request: the holder of an admin key, or `anonymous` if no key is required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: Arc<str>,
    key_id: Option<Arc<str>>,
    access: AdminAccess,
}

impl Principal {
    fn anonymous() -> Self {
        Self { name: "anonymous".into(), key_id: None, access: AdminAccess::Full }
    }

    /// Makes the author of what the process does by itself.
    pub(crate) fn of_process(name: &str) -> Self {
        Self { name: name.into(), key_id: None, access: AdminAccess::Full }
    }

    fn from_key(key: &AdminKey, digest: &KeyDigest, access: AdminAccess) -> Self {
        let id: Arc<str> = key_id(digest).into();
        let name = key.name.as_deref().map_or_else(|| Arc::clone(&id), Into::into);
        Self { name, key_id: Some(id), access }
    }

    /// Returns the name for audit rows: that of the key, else its id, which does not reveal it; `anonymous` without a key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id of the key; `None` if no key is required.
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Returns the rights.
    pub fn access(&self) -> AdminAccess {
        self.access
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The reason of a refusal, as the metric counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthFailureReason {
    MissingOrMalformed,
    InvalidKey,
    LockedOut,
    ReadOnlyWrite,
}

impl AuthFailureReason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MissingOrMalformed => "missing_or_malformed",
            Self::InvalidKey => "invalid_key",
            Self::LockedOut => "locked_out",
            Self::ReadOnlyWrite => "read_only_write",
        }
    }
}

/// A refusal: the reason to count and the error to answer.
#[derive(Debug)]
pub(crate) struct AuthRefusal {
    pub(crate) reason: AuthFailureReason,
    pub(crate) error: ServiceError,
}

impl AuthRefusal {
    fn unauthorized(reason: AuthFailureReason, message: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self { reason, error: ServiceError::new(Code::Unauthorized, message) }
    }

    /// Returns the one error for every failed read of a trace. `has_keys` is false for an admin API that asks for no key.
    fn trace_unauthorized(reason: AuthFailureReason, has_keys: bool) -> Self {
        let message = if has_keys {
            "This trace is read with its token or an admin key"
        } else {
            "This trace is read with its token; an admin key reads it where admin_auth is enabled"
        };
        Self::unauthorized(reason, message)
    }

    /// Returns the one error for a wrong key and a lock-out, so that guessing reveals nothing.
    fn invalid_key(reason: AuthFailureReason) -> Self {
        Self::unauthorized(reason, "Invalid API key")
    }
}

/// The part of a trace that a reader may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceView {
    /// The submitter of the work: nothing that is for operators only.
    Submitter,
    /// All that a trace shows.
    Operator,
}

/// The configured keys, and the failures of each client.
#[derive(Debug)]
pub struct AdminAuthenticator {
    enabled: bool,
    keys: ArcSwap<AdminKeys>,
    lockout: Lockout<IpAddr>,
    networks: ClientNetworks,
    /// The names of an admin API that asks for no key.
    open_hosts: OpenAdminHosts,
}

/// The configured keys, as digests.
#[derive(Debug)]
struct AdminKeys {
    /// A header with a raw key, checked before the two standard forms.
    custom: Option<HeaderName>,
    header: String,
    keys: Vec<(KeyDigest, Principal)>,
}

impl AdminKeys {
    /// Digests the configured keys; entries the configuration refuses (malformed digests) are not keys.
    fn new(config: &config::AdminAuthSection) -> Self {
        let custom =
            HeaderName::from_bytes(config.header.as_bytes()).ok().filter(|name| *name != AUTHORIZATION);
        let full = config.api_keys.iter().map(|key| (key, AdminAccess::Full));
        let read_only = config.read_only_api_keys.iter().map(|key| (key, AdminAccess::ReadOnly));
        let keys = full.chain(read_only).filter_map(|(key, access)| {
            let digest = key.digest()?;
            Some((digest, Principal::from_key(key, &digest, access)))
        });
        let keys = keys.collect();
        Self { custom, header: config.header.clone(), keys }
    }
}

impl AdminAuthenticator {
    /// Makes the authenticator of the configured keys. `listen_host` is the name of the service by `server.host`;
    /// failures count by `networks`.
    pub fn new(
        config: &config::AdminAuthSection,
        listen_host: Option<&str>,
        networks: ClientNetworks,
    ) -> Self {
        Self {
            enabled: config.enabled,
            keys: ArcSwap::from_pointee(AdminKeys::new(config)),
            lockout: Lockout::default(),
            networks,
            open_hosts: OpenAdminHosts::new(listen_host, &config.allowed_hosts),
        }
    }

    /// Replaces the keys; failures of clients stay counted.
    pub(crate) fn replace_keys(&self, config: &config::AdminAuthSection) {
        self.keys.store(Arc::new(AdminKeys::new(config)));
    }

    /// Refuses what a browser sends for a foreign page to an admin API that asks for no key.
    ///
    /// # Errors
    /// 403 for a foreign host name, and for a page of another origin that `cors.allowed_origins` does not name.
    pub(crate) fn check_page(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        is_listed_origin: bool,
    ) -> Result<(), ServiceError> {
        if self.enabled { Ok(()) } else { self.open_hosts.check(uri, headers, is_listed_origin) }
    }

    /// Authenticates a request to a guarded path.
    pub(crate) fn authorize(
        &self,
        method: &Method,
        headers: &HeaderMap,
        client: IpAddr,
    ) -> Result<Principal, AuthRefusal> {
        if !self.enabled {
            return Ok(Principal::anonymous());
        }
        let keys = self.keys.load();
        let key = keys.presented_key(headers)?;
        // Compared before anything is counted: guesses from a shared address do not lock operators out.
        let Some(principal) = keys.find_key(key) else {
            return Err(AuthRefusal::invalid_key(self.count_failure(client)));
        };
        match principal.access {
            // A read-only key must not reset the failures of its holder.
            AdminAccess::Full => self.lockout.clear(self.networks.network_of(client)),
            AdminAccess::ReadOnly if method != Method::GET && method != Method::HEAD => {
                let error = ServiceError::forbidden("This API key is read-only");
                return Err(AuthRefusal { reason: AuthFailureReason::ReadOnlyWrite, error });
            }
            AdminAccess::ReadOnly => {}
        }
        Ok(principal.clone())
    }

    /// Returns `true` if the key of a caller is still accepted: a response may last longer than its key.
    pub(crate) fn is_valid(&self, caller: &Principal) -> bool {
        !self.enabled || self.keys.load().keys.iter().any(|(_, known)| known.key_id == caller.key_id)
    }

    /// Counts a failure of this client and returns its reason.
    fn count_failure(&self, client: IpAddr) -> AuthFailureReason {
        let client = self.networks.network_of(client);
        let recorded = self.lockout.record_failure(client, Instant::now());
        if recorded.is_counted { AuthFailureReason::InvalidKey } else { AuthFailureReason::LockedOut }
    }

    /// Authorises the read of one trace, by the token with that SHA-256 or an admin credential. `None` for a
    /// trace without a token, which is open if no key is asked for. A good token is never refused and does
    /// not clear the client's failures: anyone who may submit something obtains one.
    pub(crate) fn authorize_trace(
        &self,
        headers: &HeaderMap,
        client: IpAddr,
        token: Option<&[u8]>,
        token_hash: Option<&str>,
    ) -> Result<TraceView, AuthRefusal> {
        let Some(hash) = token_hash else {
            return self.authorize(&Method::GET, headers, client).map(|_| TraceView::Operator);
        };
        if token.is_some_and(|token| is_token_of(token, hash)) {
            return Ok(TraceView::Submitter);
        }
        if self.enabled {
            match self.authorize(&Method::GET, headers, client) {
                Err(refusal) if refusal.reason == AuthFailureReason::MissingOrMalformed => {}
                decided => {
                    let decided = decided.map(|_| TraceView::Operator);
                    return decided.map_err(|refusal| AuthRefusal::trace_unauthorized(refusal.reason, true));
                }
            }
        }
        if token.is_none() {
            return Err(AuthRefusal::trace_unauthorized(AuthFailureReason::MissingOrMalformed, self.enabled));
        }
        Err(AuthRefusal::trace_unauthorized(self.count_failure(client), self.enabled))
    }

    /// Returns the reader of an open endpoint, if the request has a credential. A wrong one counts as a
    /// failure.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        client: IpAddr,
    ) -> Result<Option<Principal>, AuthFailureReason> {
        match self.authorize(&Method::GET, headers, client) {
            Ok(principal) => Ok(Some(principal)),
            Err(refusal) if refusal.reason == AuthFailureReason::MissingOrMalformed => Ok(None),
            Err(refusal) => Err(refusal.reason),
        }
    }
}

impl AdminKeys {
    /// Returns the key of the first form present, which decides alone: the configured header, `x-api-key`,
    /// then `Authorization: Bearer`.
    fn presented_key<'a>(&self, headers: &'a HeaderMap) -> Result<&'a [u8], AuthRefusal> {
        let filled = |name: &HeaderName| {
            headers.get(name).map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
        };
        if let Some(key) = self.custom.as_ref().and_then(filled).or_else(|| filled(&X_API_KEY)) {
            return Ok(key);
        }
        let Some(value) = filled(&AUTHORIZATION) else {
            let message = format!("Missing {} header", self.header);
            return Err(AuthRefusal::unauthorized(AuthFailureReason::MissingOrMalformed, message));
        };
        bearer_token(value).ok_or_else(|| {
            let message = "The Authorization header must have the form 'Bearer <key>'";
            AuthRefusal::unauthorized(AuthFailureReason::MissingOrMalformed, message)
        })
    }

    /// Compares with every key, so that the time taken reveals nothing.
    fn find_key(&self, key: &[u8]) -> Option<&Principal> {
        let digest: KeyDigest = Sha256::digest(key).into();
        let mut holder = None;
        for (known, principal) in &self.keys {
            if bool::from(known.ct_eq(&digest)) {
                holder = holder.or(Some(principal));
            }
        }
        holder
    }
}

/// Returns `true` for a token with this SHA-256 in hexadecimal digits.
pub(super) fn is_token_of(token: &[u8], hash: &str) -> bool {
    hex::encode(Sha256::digest(token)).as_bytes().ct_eq(hash.as_bytes()).into()
}

/// Returns the token of `Bearer <token>`; the case of the scheme does not matter (RFC 7235).
fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
