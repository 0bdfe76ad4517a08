//! What a channel is checked for before it is stored, beyond its document: expressions are compiled, keys that are
//! written out are parsed, an address of a key set that could never be dialled is refused. References to secrets are not
//! looked up: the process that serves may not be the one that stores.

use std::sync::Arc;

use serde_json::Value;
use svc_auth::jwt::check_literal_keys;
use svc_engine::Engine;
use svc_model::config::AuthConfig;
use svc_model::{ChannelChecks, ChannelConfig, FieldError};
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
        let templates = config.expressions().into_iter().filter(|expression| {
            let is_condition = !expression.name.ends_with("key_logic");
            is_condition && self.engine.is_template(expression.logic)
        });
        let mut errors: Vec<_> = templates
            .map(|expression| {
                let why = format!("{} calls no operator, so it would let everything pass", expression.name);
                FieldError::invalid(expression.path, why)
            })
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
}
