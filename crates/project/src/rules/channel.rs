//! Checks of a channel before it is stored, beyond its document: expressions are compiled, literal keys are
//! parsed, an address of a key set or of a provider that could never be dialled is refused. References to secrets
//! are not resolved: the process that serves may not be the one that stores.

mod schemas;
mod suspicions;

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_auth::jwt::check_literal_keys;
use svc_contract::{MAX_SCHEMA_BYTES, MessageSchema, SchemaError};
use svc_engine::{ConstantTruth, Engine, UnknownCall};
use svc_model::config::{AuthConfig, GuardExpression, SignInConfig, SignInProvider, SignInProviders};
use svc_model::{ChannelChecks, ChannelConfig, FieldError, Issue, origin_problem};
use svc_outbound::check_url;

use self::suspicions::find_suspicions;

/// The rules of channels, with the settings they depend on.
pub struct ChannelRules {
    engine: Arc<Engine>,
    allow_private_key_sets: bool,
    allow_private_providers: bool,
}

impl ChannelRules {
    /// Creates the rules. `allow_private_key_sets` accepts key sets at private addresses.
    pub fn new(engine: Arc<Engine>, allow_private_key_sets: bool) -> Self {
        Self { engine, allow_private_key_sets, allow_private_providers: false }
    }

    /// Accepts identity providers at private addresses, if `allow` is set.
    #[must_use]
    pub fn with_private_providers(self, allow: bool) -> Self {
        Self { allow_private_providers: allow, ..self }
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
            .flat_map(|expression| self.refuse_unknown_and_constant(expression))
            .collect();
        errors.extend(check_contract(config));
        errors.extend(refuse_origins(config.origin_allow_list.as_deref().unwrap_or_default()));
        if let Some(sign_in) = &config.oauth2_login {
            errors.extend(self.check_sign_in(sign_in));
        }
        let Some(AuthConfig::Jwt(jwt)) = &config.auth else { return errors };
        let keys = check_literal_keys(jwt)
            .into_iter()
            .map(|(path, why)| FieldError::invalid(format!("channel.config.{path}"), why));
        let address =
            jwt.jwks_url.as_deref().and_then(|url| check_url(url, self.allow_private_key_sets).err());
        let address = address
            .map(|why| FieldError::invalid("channel.config.auth.jwks_url", format!("auth.jwks_url: {why}")));
        let issuer =
            jwt.discovered_issuer().and_then(|issuer| check_url(issuer, self.allow_private_key_sets).err());
        let issuer = issuer
            .map(|why| FieldError::invalid("channel.config.auth.issuer", format!("auth.issuer: {why}")));
        errors.extend(keys.chain(address).chain(issuer));
        errors
    }

    fn suspicions(&self, config: &ChannelConfig) -> Vec<Issue> {
        find_suspicions(&self.engine, config)
    }

    fn refused_payload(&self, config: &ChannelConfig, payload: &Value) -> Vec<Issue> {
        let schema = config.request.schema.clone().map(Value::Object);
        let Some(Ok(schema)) = schema.map(|schema| MessageSchema::compile(&schema)) else {
            return Vec::new();
        };
        let faults = schema.check(payload, "channel.transport_config.payload").err().unwrap_or_default();
        let warn = |fault: FieldError| {
            Issue::new(fault.path, format!("request.schema refuses every run: {}", fault.message))
        };
        faults.into_iter().map(warn).collect()
    }
}

/// Refuses an address that is none, or that is never dialled. The target of a reference is unknown here.
fn refuse_address(path: &str, url: Option<&String>, allow_private: bool) -> Option<FieldError> {
    let url = url.filter(|url| url.starts_with("https://"))?;
    let why = check_url(url, allow_private).err()?;
    Some(FieldError::invalid(path, why.to_string()))
}

/// Refuses schemas that do not compile, and examples that do not match them.
fn check_contract(config: &ChannelConfig) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut compile = |schema: Option<&Map<String, Value>>, path: &str| {
        let compiled = MessageSchema::compile(&Value::Object(schema?.clone()));
        compiled.map_err(|error| errors.push(refuse_schema(path, &error))).ok()
    };
    let request = compile(config.request.schema.as_ref(), "channel.config.request.schema");
    let response = compile(config.response.schema.as_ref(), "channel.config.response.schema");
    for (index, example) in config.examples.iter().enumerate() {
        // Only the answer of a run that went well has the schema.
        let response = response.as_ref().filter(|_| example.status < 400);
        let parts =
            [("request", request.as_ref(), &example.request), ("response", response, &example.response)];
        for (part, schema, value) in parts {
            if let (Some(schema), Some(value)) = (schema, value) {
                let path = format!("channel.config.examples[{index}].{part}");
                errors.extend(schema.check(value, &path).err().unwrap_or_default());
            }
        }
    }
    errors
}

fn refuse_schema(path: &str, error: &SchemaError) -> FieldError {
    match error {
        SchemaError::TooLarge { bytes } => {
            FieldError::too_long(path, MAX_SCHEMA_BYTES, *bytes, "bytes of JSON")
        }
        other => FieldError::invalid(path, other.to_string()),
    }
}

/// Refuses origins that no browser sends.
fn refuse_origins(origins: &[String]) -> impl Iterator<Item = FieldError> {
    let problem = |origin: &String| if origin == "*" { None } else { origin_problem(origin) };
    let problems =
        origins.iter().enumerate().filter_map(move |(index, origin)| Some((index, problem(origin)?)));
    problems.map(|(index, problem)| {
        FieldError::invalid(format!("channel.config.origin_allow_list[{index}]"), problem)
    })
}

/// Refuses a literal in the place of an expression: a path without `var` admits every caller, or gives all one key.
/// A boolean switches a guard.
fn refuse_literal(expression: GuardExpression<'_>) -> Option<FieldError> {
    let GuardExpression { name, logic, .. } = expression;
    let kind = match logic {
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) if expression.is_key() => "a boolean",
        _ => return None,
    };
    let message = format!("{kind} is no expression: it is the same for every message");
    Some(FieldError::invalid(format!("channel.config.{name}"), message))
}

impl ChannelRules {
    /// Refuses literal addresses of a sign-in that are none, or could never be dialled.
    fn check_sign_in(&self, block: &SignInConfig) -> Vec<FieldError> {
        let place = "channel.config.oauth2_login";
        // Browsers open it, the service does not.
        let own = refuse_address(&format!("{place}.redirect_uri"), Some(&block.redirect_uri), true);
        let providers: Vec<(String, &SignInProvider)> = match &block.providers {
            SignInProviders::One(provider) => vec![(place.to_owned(), &**provider)],
            SignInProviders::Named(providers) => {
                let place = |name: &String| format!("{place}.providers.{name}");
                providers.iter().map(|(name, provider)| (place(name), provider)).collect()
            }
        };
        let providers =
            providers.into_iter().flat_map(|(place, provider)| self.check_provider(&place, provider));
        own.into_iter().chain(providers).collect()
    }

    fn check_provider(&self, place: &str, provider: &SignInProvider) -> Vec<FieldError> {
        let (asked, keys) = (self.allow_private_providers, self.allow_private_key_sets);
        let jwks_url = provider.id_token.as_ref().and_then(|rules| rules.jwks_url.as_ref());
        let addresses = [
            ("issuer", provider.issuer.as_ref(), asked),
            ("authorize_url", provider.authorize_url.as_ref(), true),
            ("token_url", provider.token_url.as_ref(), asked),
            ("userinfo_url", provider.userinfo_url.as_ref(), asked),
            ("id_token.jwks_url", jwks_url, keys),
        ];
        let refuse = |(name, url, allow): (&str, Option<&String>, bool)| {
            refuse_address(&format!("{place}.{name}"), url, allow)
        };
        addresses.into_iter().filter_map(refuse).collect()
    }

    /// Refuses unknown operators and constant truths, at any depth.
    fn refuse_unknown_and_constant(&self, expression: GuardExpression<'_>) -> Vec<FieldError> {
        let at = format!("channel.config.{}", expression.name);
        let unknown = self.engine.unknown_calls(&at, expression.logic);
        let constant = self.engine.constant_truths(&at, expression.logic, !expression.is_key());
        if unknown.is_empty() && constant.is_empty() {
            let literal = refuse_literal(expression);
            return literal.or_else(|| self.refuse_constant(expression)).into_iter().collect();
        }
        unknown.iter().map(UnknownCall::refusal).chain(constant.iter().map(ConstantTruth::refusal)).collect()
    }

    /// Refuses what calls no operator at any depth: as a key it is the same for every caller, as a guard a list is the
    /// same for every message. A key may be made of several parts.
    fn refuse_constant(&self, expression: GuardExpression<'_>) -> Option<FieldError> {
        let GuardExpression { path, name, logic, .. } = expression;
        if self.engine.calls_operator(logic) {
            return None;
        }
        match logic {
            _ if expression.is_key() => {
                let message = format!("{name} calls no operator, so every caller would have the same key");
                Some(FieldError::invalid(path, message))
            }
            Value::Array(_) => {
                let message =
                    "a list that calls no operator is no expression: it is the same for every message";
                Some(FieldError::invalid(format!("channel.config.{name}"), message))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
