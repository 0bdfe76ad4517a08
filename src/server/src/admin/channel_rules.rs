//! What a channel is checked for before it is stored, beyond its document: expressions are compiled, keys that are
//! written out are parsed, an address of a key set that could never be dialled is refused. References to secrets are
//! not looked up: the process that serves may not be the one that stores.

use std::sync::Arc;

use serde_json::Value;
use svc_auth::jwt::check_literal_keys;
use svc_engine::Engine;
use svc_model::config::{AuthConfig, GuardExpression};
use svc_model::{ChannelChecks, ChannelConfig, FieldError, Issue};
use svc_outbound::check_url;

use crate::state::AppState;

/// The checks, with the settings they depend on.
pub(super) struct ChannelRules {
    engine: Arc<Engine>,
    allow_private_key_sets: bool,
}

impl ChannelRules {
    pub(super) fn of(state: &AppState) -> Self {
        Self {
            engine: Arc::clone(&state.engine),
            allow_private_key_sets: state.config.jwt.allow_private_jwks_urls,
        }
    }
}

impl ChannelChecks for ChannelRules {
    fn compiles(&self, expression: &Value) -> Result<(), String> {
        self.engine.compiles(expression)
    }

    fn config(&self, config: &ChannelConfig) -> Vec<FieldError> {
        let mut errors: Vec<_> = config
            .expressions()
            .into_iter()
            .filter_map(|expression| self.calls_nothing(expression))
            .collect();
        let Some(AuthConfig::Jwt(jwt)) = &config.auth else { return errors };
        let keys = check_literal_keys(jwt)
            .into_iter()
            .map(|(path, why)| FieldError::invalid(format!("channel.config.{path}"), why));
        let address =
            jwt.jwks_url.as_deref().and_then(|url| check_url(url, self.allow_private_key_sets).err());
        let address = address
            .map(|why| FieldError::invalid("channel.config.auth.jwks_url", format!("auth.jwks_url: {why}")));
        errors.extend(keys.chain(address));
        errors
    }

    fn suspicions(&self, config: &ChannelConfig) -> Vec<Issue> {
        let unknown = |expression: GuardExpression<'_>| {
            self.engine.unknown_calls(&format!("channel.config.{}", expression.name), expression.logic)
        };
        let why = "no operator has this name, so the object is taken for data";
        config.expressions().into_iter().flat_map(unknown).map(|path| Issue::new(path, why)).collect()
    }
}

impl ChannelRules {
    /// Refuses an expression that is most likely a misspelled operator. A key may be made of several parts.
    fn calls_nothing(&self, expression: GuardExpression<'_>) -> Option<FieldError> {
        let GuardExpression { path, name, logic } = expression;
        let (refused, meaning) = if name.ends_with("key_logic") {
            (self.engine.is_unknown_call(logic), "every caller would have the same key")
        } else {
            (self.engine.is_template(logic), "it would let everything pass")
        };
        refused.then(|| FieldError::invalid(path, format!("{name} calls no operator, so {meaning}")))
    }
}
