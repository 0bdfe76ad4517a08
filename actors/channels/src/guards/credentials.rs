//! The credential guard: authentication and authorization of callers.

use serde_json::{Map, Value};
use svc_auth::{Authenticator, ConsumerIdentity, Identity, PresentedRequest, RefusalReason};
use svc_engine::Expression;
use svc_model::config::AuthConfig;
use svc_model::config::auth::{ConsumerSelection, TokenLocation};
use svc_model::{Code, ServiceError, Timestamp};
use svc_secrets::Resolver;

use super::cache::KeyPrincipal;
use super::expression;
use super::passage::{GuardRefusal, RefusalKind};
use crate::digest::{Digest, DigestBuilder};
use crate::log_rate_limit::LogRateLimit;
use crate::metrics::CredentialKind;
use crate::request::DataRequest;
use crate::services::ChannelServices;

/// Claims that differ between tokens of the same caller.
const PER_TOKEN: [&str; 4] = ["exp", "iat", "nbf", "jti"];

/// Seconds after which a caller may try again whose token could not be judged.
const RETRY_AFTER: u32 = 5;

/// The message of every refused credential.
const REFUSED: &str = "Channel authentication failed";

/// The `auth` block of a channel.
pub(crate) struct CredentialGuard {
    authenticator: Authenticator,
    kind: CredentialKind,
    /// The header that carries a secret, lower case.
    header: Option<String>,
    /// The consumers whose keys are accepted, if the channel has no keys of its own.
    consumers: Option<ConsumerSelection>,
    /// The expression that the verified claims must satisfy.
    authorization: Option<Expression>,
    log_limit: LogRateLimit,
}

/// The inner reason for which a caller is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialRefusal {
    /// The credential proves no identity.
    Unproven(RefusalReason),
    /// The claims of the token do not suffice.
    Forbidden,
}

impl CredentialRefusal {
    /// Returns the name in logs and bodies.
    const fn name(self) -> &'static str {
        match self {
            Self::Unproven(reason) => reason.name(),
            Self::Forbidden => "insufficient_scope",
        }
    }
}

impl CredentialGuard {
    pub(super) fn build(
        config: &AuthConfig,
        references: &dyn Resolver,
        services: &ChannelServices,
    ) -> Result<Self, String> {
        let (kind, header, logic) = match config {
            AuthConfig::ApiKey(auth) => (CredentialKind::ApiKey, Some(&auth.header), None),
            AuthConfig::Hmac(_) => (CredentialKind::Signature, None, None),
            AuthConfig::Jwt(auth) => {
                let header = match &auth.source {
                    TokenLocation::Header { header, .. } => Some(header),
                    TokenLocation::Cookie(_) => None,
                };
                (CredentialKind::Token, header, auth.authorization_logic.as_ref())
            }
        };
        let authorization = logic
            .map(|logic| expression::compile_guard("auth.authorization_logic", logic, services))
            .transpose()?;
        let authenticator = Authenticator::build(config, references, &*services.key_sets)?;
        let header = header.map(|name| name.to_ascii_lowercase());
        let (consumers, log_limit) = (config.consumers().cloned(), LogRateLimit::default());
        Ok(Self { authenticator, kind, header, consumers, authorization, log_limit })
    }

    /// Verifies the credential of a request and authorizes its claims. Returns the identity of the caller,
    /// with all claims of a token. A refusal is counted and logged.
    pub(super) async fn verify(
        &self,
        channel: &str,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> Result<Identity, GuardRefusal> {
        self.judge(request, services).await.map_err(|refusal| {
            match refusal {
                CredentialRefusal::Unproven(reason) => {
                    services.metrics.credential_refused(self.kind, reason);
                }
                CredentialRefusal::Forbidden => services.metrics.claims_refused(),
            }
            self.log_refusal(channel, refusal.name(), request, services);
            self.to_guard_refusal(refusal)
        })
    }

    /// Judges the credential of a request and the claims of its token. Counts and logs nothing.
    pub(super) async fn judge(
        &self,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> Result<Identity, CredentialRefusal> {
        let now = Timestamp::now().naive().and_utc().timestamp();
        let consumers = self.consumers.is_some().then(|| services.consumers.current());
        let consumers = consumers.as_deref();
        let presented = PresentedRequest { headers: &request.headers, body: &request.raw, now, consumers };
        let identity =
            self.authenticator.authenticate(presented).await.map_err(CredentialRefusal::Unproven)?;
        if let (Some(logic), Some(claims)) = (&self.authorization, &identity.claims) {
            let claims = Value::Object(claims.clone());
            if !expression::holds(logic, &[("claims", &claims)], services) {
                return Err(CredentialRefusal::Forbidden);
            }
        }
        Ok(identity)
    }

    /// Builds the refusal of a caller.
    pub(super) fn to_guard_refusal(&self, refusal: CredentialRefusal) -> GuardRefusal {
        let error = match refusal {
            CredentialRefusal::Unproven(reason) => self.refusal(reason),
            CredentialRefusal::Forbidden => {
                let error = ServiceError::forbidden("insufficient_scope: the token does not allow this");
                error.with_challenge(r#"Bearer error="insufficient_scope""#)
            }
        };
        RefusalKind::Final.with(refusal.name(), error)
    }

    /// Returns the digest of the principal of a caller, which stays the same from request to request: the consumer, the
    /// key or secret that it used, or the issuer and subject of its token. A token without a subject counts by all its
    /// claims but those that differ from token to token. `None` for a caller that was let in without a credential.
    pub(super) fn principal(identity: &Identity) -> Option<Digest> {
        let mut hash = DigestBuilder::default();
        hash.text("principal");
        if let Some(consumer) = &identity.consumer {
            hash_consumer(&mut hash, consumer);
            return Some(hash.finish());
        }
        match (&identity.claims, &identity.credential) {
            (Some(claims), _) => {
                hash.optional(claims.get("iss"));
                hash.optional(claims.get("sub"));
                if !claims.contains_key("sub") {
                    let lasting = claims.iter().filter(|(name, _)| !PER_TOKEN.contains(&name.as_str()));
                    hash.entries(lasting.collect());
                }
            }
            (None, Some(credential)) => hash.bytes(credential.as_bytes()),
            (None, None) => return None,
        }
        Some(hash.finish())
    }

    /// Returns what separates the caller's answers from those of other callers: the key or secret it used, or the
    /// issuer and subject of its token with what the workflow sees of the other claims.
    pub(super) fn cache_principal(&self, identity: &Identity) -> KeyPrincipal {
        let mut hash = DigestBuilder::default();
        match identity {
            Identity { claims: Some(claims), .. } if !claims.contains_key("sub") => {
                return KeyPrincipal::Unknown;
            }
            Identity { claims: Some(claims), .. } => {
                hash.optional(claims.get("iss"));
                hash.optional(claims.get("sub"));
                let mut visible_claims = self.authenticator.exposed_claims(claims);
                visible_claims.retain(|name, _| !PER_TOKEN.contains(&name.as_str()));
                hash.members(&visible_claims);
            }
            Identity { consumer: Some(consumer), .. } => hash_consumer(&mut hash, consumer),
            Identity { credential: Some(credential), .. } => hash.bytes(credential.as_bytes()),
            // A channel may let callers in without a token: they are one principal, nobody.
            Identity { .. } => {}
        }
        KeyPrincipal::Known(hash.finish())
    }

    /// Returns the consumers whose keys are accepted; `None` if the channel has keys of its own.
    pub(super) fn consumers(&self) -> Option<&ConsumerSelection> {
        self.consumers.as_ref()
    }

    /// The header whose value is a secret of the caller.
    pub(super) fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// Returns the claims that are copied to the metadata of a message.
    pub(super) fn exposed_claims(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        self.authenticator.exposed_claims(claims)
    }

    /// Logs the reason for operators, a bounded number of times; no response and no trace shows it.
    fn log_refusal(&self, channel: &str, reason: &str, request: &DataRequest, services: &ChannelServices) {
        if let Some(suppressed) = self.log_limit.allow_line() {
            slog::info!(services.log, "credential refused";
                "channel" => channel, "mode" => self.kind.name(), "reason" => reason,
                "client_ip" => request.client_ip.map(|address| address.to_string()),
                "request_id" => &request.request_id, "suppressed" => suppressed);
        }
    }

    /// Builds the same response for every cause, except an expired token, whose holder can fetch a new one.
    fn refusal(&self, reason: RefusalReason) -> ServiceError {
        if reason == RefusalReason::KeysUnavailable {
            let refusal = ServiceError::unavailable("Credentials cannot be checked at the moment");
            return refusal.with_retry_after(RETRY_AFTER);
        }
        let refusal = ServiceError::new(Code::Unauthorized, REFUSED);
        match (self.kind, reason) {
            (CredentialKind::Token, RefusalReason::Expired) => {
                refusal.with_challenge(r#"Bearer error="invalid_token", error_description="token expired""#)
            }
            (CredentialKind::Token, _) => refusal.with_challenge(r#"Bearer error="invalid_token""#),
            // A caller without a key guesses nothing.
            (CredentialKind::ApiKey, reason) if reason != RefusalReason::Missing => refusal.as_guess(),
            _ => refusal,
        }
    }
}

/// Adds a consumer to a digest. It stays the same when it changes its key, and one that is created later under its name
/// is another one.
fn hash_consumer(hash: &mut DigestBuilder, consumer: &ConsumerIdentity) {
    hash.text("consumer");
    hash.text(&consumer.name);
    hash.text(&consumer.created_at.to_string());
}
