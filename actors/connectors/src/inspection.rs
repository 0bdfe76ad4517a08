//! Inspection of connectors apart from their use: probes, and texts whose placeholders or references have no
//! value.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_model::ConnectorType;
use svc_secrets::{Keyring, ReferenceError, Resolver, Syntax, parse, substitute};
use svc_store::StoredConnector;

use crate::error::{LoadError, LoadStage};
use crate::load;
use crate::probe::ConnectorProbe;
use crate::settings::{Settings, VariableLookup};

/// Loads a row anew and tries out the system it leads to, whether the connector is in use or not.
pub(crate) async fn probe(row: &StoredConnector, settings: &Settings) -> ConnectorProbe {
    let supported = ConnectorType::parse(&row.connector_type).is_some();
    match load::load(row, settings).await {
        Ok(loaded) => loaded.settings.probe(&row.name, settings).await,
        Err(error) => {
            let step = match error.stage {
                LoadStage::EnvSubstitution | LoadStage::SecretResolution => "secret resolution",
                LoadStage::JsonParse | LoadStage::ValueResolution | LoadStage::Deserialize => "config parse",
            };
            ConnectorProbe { supported, ..ConnectorProbe::failed(step, error.reason) }
        }
    }
}

/// Returns the reason why a connector of this type and config would not load in this process now.
pub(crate) async fn unusable(kind: &str, config: &Value, settings: &Settings) -> Option<LoadError> {
    let row = StoredConnector {
        id: String::new(),
        name: String::new(),
        connector_type: kind.to_owned(),
        config_text: Ok(config.to_string()),
        enabled: true,
    };
    match load::load(&row, settings).await {
        Ok(loaded) => {
            loaded.settings.refusal(settings).map(|why| LoadError::new(LoadStage::Deserialize, why))
        }
        Err(error) => Some(error),
    }
}

/// A text of a config that has no value now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedText {
    /// Its place below the config: `.auth.token`, `.brokers[0]`.
    pub path: String,
    pub reason: String,
}

/// Looks up every placeholder and every reference of a config, each once, and returns those without a value.
pub(crate) async fn unresolved_texts(
    config: &Value,
    lookup: &VariableLookup,
    secrets: &Keyring,
) -> Vec<UnresolvedText> {
    let mut unresolved = Vec::new();
    let mut references = Vec::new();
    each_text(String::new(), config, &mut |path, text| match substitute(text, Syntax::Plain, |name| {
        lookup(name)
    }) {
        Err(failed) => unresolved.extend(
            failed
                .into_iter()
                .map(|error| UnresolvedText { path: path.clone(), reason: error.problem.to_string() }),
        ),
        Ok(text) if text.names.iter().any(|name| !secrets.allowed_variables().allows(name)) => {
            let refused = text.names.iter().filter(|name| !secrets.allowed_variables().allows(name));
            unresolved.extend(
                refused.map(|name| UnresolvedText { path: path.clone(), reason: load::not_allowed(name) }),
            );
        }
        Ok(text) => match parse(&text.text) {
            Ok(None) => {}
            Ok(Some(reference)) => references.push((path, reference)),
            // Refused outright, wherever it stands.
            Err(ReferenceError::Reserved { .. }) => {}
            Err(error) => unresolved.push(UnresolvedText { path, reason: error.to_string() }),
        },
    });
    let needed_references: BTreeSet<_> = references.iter().map(|(_, reference)| reference.clone()).collect();
    let readings = secrets.read(needed_references).await;
    unresolved.extend(references.into_iter().filter_map(|(path, reference)| {
        let error = readings.resolve(&reference).err()?;
        Some(UnresolvedText { path, reason: error.to_string() })
    }));
    unresolved
}

fn each_text(path: String, value: &Value, visit: &mut dyn FnMut(String, &str)) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(format!("{path}[{index}]"), item, visit);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                each_text(format!("{path}.{key}"), member, visit);
            }
        }
        _ => {}
    }
}
