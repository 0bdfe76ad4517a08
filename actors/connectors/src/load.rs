//! The load of a connector: from its stored text to its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use svc_model::ConnectorType;
use svc_model::config::connector::ConnectorConfig;
use svc_model::config::value_reference::{ValueScope, replace_value_references};
use svc_secrets::{
    AllowedVariables, Keyring, ResolveError, Resolver, Secret, Syntax, collect, parse, substitute,
};
use svc_store::StoredConnector;

use crate::driver::ResolvedSettings;
use crate::drivers;
use crate::error::{LoadError, LoadStage};
use crate::settings::{Settings, VariableLookup};

/// The result of a load.
pub(crate) struct ResolvedConnector {
    pub(crate) settings: Arc<dyn ResolvedSettings>,
    /// Equal for loads with equal settings and secrets. Never shown: it is made of secrets.
    pub(crate) digest: [u8; 32],
}

/// Loads a connector from its row. Keeps nothing of an earlier load.
///
/// # Errors
/// [`LoadError`] with the stage that failed.
pub(crate) async fn load(row: &StoredConnector, settings: &Settings) -> Result<ResolvedConnector, LoadError> {
    let Settings { environment, secrets, vars, .. } = settings;
    load_with(row, environment, secrets, vars).await
}

/// As [`load`], with the sources of the values.
async fn load_with(
    row: &StoredConnector,
    lookup: &VariableLookup,
    secrets: &Keyring,
    declared: &Map<String, Value>,
) -> Result<ResolvedConnector, LoadError> {
    let text = row.config_text.as_deref();
    // A config that cannot be decrypted lacks its key, which is a secret.
    let text = text.map_err(|error| {
        LoadError::new(LoadStage::SecretResolution, format!("the stored config cannot be read: {error}"))
    })?;
    let config = resolve_config(text, lookup, secrets, declared).await?;
    let settings = settings(&row.connector_type, &config)?;
    let mut digest = Sha256::new();
    for part in [row.name.as_str(), row.connector_type.as_str(), &config.to_string()] {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    Ok(ResolvedConnector { settings, digest: digest.finalize().into() })
}

/// Replaces the placeholders, the declared values and the references of a config.
///
/// # Errors
/// [`LoadError`] with the stage that failed.
pub(crate) async fn resolve_config(
    text: &str,
    lookup: &VariableLookup,
    secrets: &Keyring,
    declared: &Map<String, Value>,
) -> Result<Value, LoadError> {
    let mut config = document(text, lookup, secrets.allowed_variables())?;
    replace_value_references(ValueScope::ConnectorConfig, &mut config, Some(declared)).map_err(
        |problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            LoadError::new(LoadStage::ValueResolution, problems.join("; "))
        },
    )?;
    resolve_references(config, secrets).await
}

/// Replaces placeholders in the text, and reads it.
fn document(text: &str, lookup: &VariableLookup, allowed: &AllowedVariables) -> Result<Value, LoadError> {
    // A value goes into a JSON string, whatever it holds.
    let escaped = |name: &str| {
        let quoted = Value::String(lookup(name)?).to_string();
        Some(quoted[1..quoted.len() - 1].to_owned())
    };
    let text = substitute(text, Syntax::Plain, escaped).map_err(|failed| {
        // The same variable may stand in several texts.
        let mut problems: Vec<_> = failed.into_iter().map(|error| error.problem.to_string()).collect();
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        LoadError::new(LoadStage::EnvSubstitution, problems.join("; "))
    })?;
    if let Some(name) = text.names.iter().find(|name| !allowed.allows(name)) {
        return Err(LoadError::new(LoadStage::EnvSubstitution, not_allowed(name)));
    }
    serde_json::from_str(&text.text).map_err(|error| LoadError::new(LoadStage::JsonParse, error))
}

/// The refusal of a placeholder whose variable stored definitions may not read.
pub(crate) fn not_allowed(variable: &str) -> String {
    format!("stored definitions may not read the variable {variable}; add it to [secrets] allowed_env")
}

/// Replaces references with their values; each is read once.
async fn resolve_references(mut config: Value, secrets: &Keyring) -> Result<Value, LoadError> {
    let mut references = BTreeSet::new();
    collect(&config, &mut references);
    let readings = secrets.read(references).await;
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
    Err(LoadError { is_unread, ..LoadError::new(LoadStage::SecretResolution, reasons.join("; ")) })
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

fn settings(kind: &str, config: &Value) -> Result<Arc<dyn ResolvedSettings>, LoadError> {
    let refused = |reason: String| LoadError::new(LoadStage::Deserialize, reason);
    let kind = ConnectorType::parse(kind).ok_or_else(|| refused("the type is unknown".to_owned()))?;
    let config = ConnectorConfig::parse(kind, config).map_err(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        refused(reasons.join("; "))
    })?;
    drivers::resolve(&config).map_err(refused)
}

#[cfg(test)]
mod tests;
