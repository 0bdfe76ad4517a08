//! Who is calling, and whether that one may.

use serde_json::{Map, Value};
use svc_auth::{Authenticator, Presented, Reason};
use svc_engine::Expression;
use svc_model::config::AuthConfig;
use svc_model::config::auth::TokenSource;
use svc_model::{Code, ServiceError, Timestamp};
use svc_secrets::Resolver;

use super::expression;
use crate::metrics::Credential;
use crate::request::DataRequest;
use crate::toolbox::Toolbox;

/// What every refused credential is told.
const REFUSED: &str = "Channel authentication failed";

/// The `auth` block of a channel.
pub(crate) struct Credentials {
    authenticator: Authenticator,
    kind: Credential,
    /// The header that carries a secret, lower case.
    header: Option<String>,
    /// What the verified claims must satisfy.
    authorization: Option<Expression>,
}

impl Credentials {
    pub(super) fn build(
        config: &AuthConfig,
        references: &dyn Resolver,
        tools: &Toolbox,
    ) -> Result<Self, String> {
        let (kind, header, logic) = match config {
            AuthConfig::ApiKey(auth) => (Credential::ApiKey, Some(&auth.header), None),
            AuthConfig::Hmac(_) => (Credential::Signature, None, None),
            AuthConfig::Jwt(auth) => {
                let header = match &auth.source {
                    TokenSource::Header { header, .. } => Some(header),
                    TokenSource::Cookie(_) => None,
                };
                (Credential::Token, header, auth.authorization_logic.as_ref())
            }
        };
        let authorization =
            logic.map(|logic| expression::compile("auth.authorization_logic", logic, tools)).transpose()?;
        let authenticator = Authenticator::build(config, references, &*tools.key_sets)?;
        let header = header.map(|name| name.to_ascii_lowercase());
        Ok(Self { authenticator, kind, header, authorization })
    }

    /// Verifies the credential of a request, then what its claims must satisfy. Returns all claims of a token; `None`
    /// where there is no token to have some.
    pub(super) async fn verify(
        &self,
        channel: &str,
        request: &DataRequest,
        tools: &Toolbox,
    ) -> Result<Option<Value>, ServiceError> {
        let now = Timestamp::now().naive().and_utc().timestamp();
        let presented = Presented { headers: &request.headers, body: &request.raw, now };
        let identity = self.authenticator.authenticate(presented).await.map_err(|reason| {
            tools.metrics.credential_refused(self.kind, reason);
            slog::debug!(tools.log, "credential refused";
                "channel" => channel, "mode" => self.kind.name(), "reason" => reason.name());
            self.refusal(reason)
        })?;
        let claims = identity.claims.map(Value::Object);
        match (&self.authorization, &claims) {
            (Some(logic), Some(claims)) if !expression::holds(logic, &[("claims", claims)], tools) => {
                slog::debug!(tools.log, "claims refused"; "channel" => channel);
                let refusal = ServiceError::forbidden("insufficient_scope: the token does not allow this");
                Err(refusal.with_challenge(r#"Bearer error="insufficient_scope""#))
            }
            _ => Ok(claims),
        }
    }

    /// The header whose value is a secret of the caller.
    pub(super) fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// The claims that may reach the metadata.
    pub(super) fn exposed(&self, claims: Value) -> Map<String, Value> {
        match claims {
            Value::Object(claims) => self.authenticator.exposed(&claims),
            _ => Map::new(),
        }
    }

    /// The same bytes for every cause, but that a token has expired: its holder is to fetch a new one.
    fn refusal(&self, reason: Reason) -> ServiceError {
        let refusal = ServiceError::new(Code::Unauthorized, REFUSED);
        match (self.kind, reason) {
            (Credential::Token, Reason::Expired) => {
                refusal.with_challenge(r#"Bearer error="invalid_token", error_description="token expired""#)
            }
            (Credential::Token, _) => refusal.with_challenge(r#"Bearer error="invalid_token""#),
            _ => refusal,
        }
    }
}
