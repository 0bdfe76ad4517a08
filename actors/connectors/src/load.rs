//! From the stored text of a connector to its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_model::ConnectorType;
use svc_model::config::connector::ConnectorConfig;
use svc_secrets::{
    AllowedVariables, Keyring, ResolveError, Resolver, Secret, Syntax, collect, parse, substitute,
};
use svc_store::StoredConnector;

use crate::drivers::Ready;

/// How far a load came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Replacing `${VAR}` in the text.
    EnvSubstitution,
    /// Reading the text as JSON.
    JsonParse,
    /// Reading secret references.
    SecretResolution,
    /// Reading the settings of the type.
    Deserialize,
}

impl Stage {
    /// The name in statuses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EnvSubstitution => "env_substitution",
            Self::JsonParse => "json_parse",
            Self::SecretResolution => "secret_resolution",
            Self::Deserialize => "deserialize",
        }
    }
}

/// Why a connector is not in use. The reason names places, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", .stage.name())]
pub struct LoadError {
    /// How far the load came.
    pub stage: Stage,
    /// What stopped it.
    pub reason: String,
    /// Whether it was a secret store that could not be read: time may heal that.
    pub(crate) is_unread: bool,
}

impl LoadError {
    pub(crate) fn new(stage: Stage, reason: impl fmt::Display) -> Self {
        Self { stage, reason: reason.to_string(), is_unread: false }
    }
}

/// Looks a variable of the environment up.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a load made of a row.
pub(crate) struct Prepared {
    pub(crate) settings: Ready,
    /// Tells whether a later load comes to the same. Never shown: it is made of secrets.
    pub(crate) digest: [u8; 32],
}

/// Loads a connector. Nothing is kept from an earlier load.
pub(crate) async fn load(
    row: &StoredConnector,
    lookup: &Lookup,
    secrets: &Keyring,
) -> Result<Prepared, LoadError> {
    let text = row.config_text.as_deref();
    // A key that is missing is a secret that cannot be had.
    let text = text.map_err(|error| {
        LoadError::new(Stage::SecretResolution, format!("the stored config cannot be read: {error}"))
    })?;
    let config = document(text, lookup, secrets.allowed_variables())?;
    let config = resolved(config, secrets).await?;
    let settings = settings(&row.connector_type, &config)?;
    let mut digest = Sha256::new();
    for part in [row.name.as_str(), row.connector_type.as_str(), &config.to_string()] {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    Ok(Prepared { settings, digest: digest.finalize().into() })
}

/// Replaces placeholders in the text, and reads it.
fn document(text: &str, lookup: &Lookup, allowed: &AllowedVariables) -> Result<Value, LoadError> {
    // A value goes into a JSON string, whatever it holds.
    let escaped = |name: &str| {
        let quoted = Value::String(lookup(name)?).to_string();
        Some(quoted[1..quoted.len() - 1].to_owned())
    };
    let text = substitute(text, Syntax::Plain, escaped).map_err(|failed| {
        let problems: Vec<_> = failed.into_iter().map(|error| error.problem.to_string()).collect();
        LoadError::new(Stage::EnvSubstitution, problems.join("; "))
    })?;
    if let Some(name) = text.names.iter().find(|name| !allowed.allows(name)) {
        return Err(LoadError::new(Stage::EnvSubstitution, not_allowed(name)));
    }
    serde_json::from_str(&text.text).map_err(|error| LoadError::new(Stage::JsonParse, error))
}

/// The refusal of a placeholder whose variable stored definitions may not read.
pub(crate) fn not_allowed(variable: &str) -> String {
    format!("stored definitions may not read the variable {variable}; add it to [secrets] allowed_env")
}

/// Puts values in the place of references; each is read once.
async fn resolved(mut config: Value, secrets: &Keyring) -> Result<Value, LoadError> {
    let mut wanted = BTreeSet::new();
    collect(&config, &mut wanted);
    let readings = secrets.read(wanted).await;
    let (mut failed, mut is_unread) = (BTreeMap::new(), false);
    replace(&mut config, &mut |text| {
        let read = match parse(text) {
            Ok(None) => return None,
            Ok(Some(reference)) => readings.resolve(&reference).map_err(|error| {
                is_unread |= matches!(error, ResolveError::Unreadable { .. });
                error.to_string()
            }),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|why| failed.insert(text.to_owned(), why)).ok()
    });
    if failed.is_empty() {
        return Ok(config);
    }
    let reasons: Vec<_> = failed.into_values().collect();
    Err(LoadError { is_unread, ..LoadError::new(Stage::SecretResolution, reasons.join("; ")) })
}

fn replace(value: &mut Value, resolve: &mut dyn FnMut(&str) -> Option<Secret>) {
    match value {
        Value::String(text) => {
            if let Some(secret) = resolve(text) {
                secret.expose().clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, resolve)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, resolve)),
        _ => {}
    }
}

fn settings(kind: &str, config: &Value) -> Result<Ready, LoadError> {
    let refused = |reason: String| LoadError::new(Stage::Deserialize, reason);
    let kind = ConnectorType::parse(kind).ok_or_else(|| refused("the type is unknown".to_owned()))?;
    let config = ConnectorConfig::parse(kind, config).map_err(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        refused(reasons.join("; "))
    })?;
    Ready::of(config).map_err(refused)
}

#[cfg(test)]
mod tests;
