//! Looks at a connector from outside its use: whether it answers, and what of its text stands for nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use svc_model::ConnectorType;
use svc_secrets::{Keyring, ReferenceError, Resolver, Syntax, parse, substitute};
use svc_store::StoredConnector;

use crate::drivers::Ready;
use crate::handle::Settings;
use crate::load::{self, LoadError, Lookup, Stage};

/// How long an answer may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Whether a connector answers. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// It did.
    pub reachable: bool,
    /// Whether connectors of its type can be asked.
    pub supported: bool,
    /// What was done, or how far it came.
    pub probe: &'static str,
    /// Why it counts as not reachable.
    pub error: Option<String>,
}

impl Probe {
    pub(crate) fn failed(supported: bool, probe: &'static str, error: impl Into<String>) -> Self {
        Self { reachable: false, supported, probe, error: Some(error.into()) }
    }
}

/// Loads a row afresh, in use or not, and asks what it leads to.
pub(crate) async fn probe(row: &StoredConnector, settings: &Settings) -> Probe {
    let supported = ConnectorType::parse(&row.connector_type).is_some_and(Ready::probes);
    match load::load(row, settings.lookup(), &settings.secrets).await {
        Ok(prepared) => prepared.settings.probe(&row.name, settings).await,
        Err(error) => {
            let step = match error.stage {
                Stage::EnvSubstitution | Stage::SecretResolution => "secret resolution",
                Stage::JsonParse | Stage::Deserialize => "config parse",
            };
            Probe::failed(supported, step, error.reason)
        }
    }
}

/// Why connectors of this type and config would not load here and now; nothing where they would.
pub(crate) async fn unusable(kind: &str, config: &Value, settings: &Settings) -> Option<LoadError> {
    let row = StoredConnector {
        id: String::new(),
        name: String::new(),
        connector_type: kind.to_owned(),
        config_text: Ok(config.to_string()),
        enabled: true,
    };
    match load::load(&row, settings.lookup(), &settings.secrets).await {
        Ok(prepared) => {
            prepared.settings.refusal(settings).map(|why| LoadError::new(Stage::Deserialize, why))
        }
        Err(error) => Some(error),
    }
}

/// A text of a config that has no value now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Where it stands, below the config: `.auth.token`, `.brokers[0]`.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Looks up every placeholder and every reference of a config, each once, and tells those without a value.
pub(crate) async fn unresolved(config: &Value, lookup: &Lookup, secrets: &Keyring) -> Vec<Unresolved> {
    let mut unresolved = Vec::new();
    let mut references = Vec::new();
    each_text(String::new(), config, &mut |path, text| match substitute(text, Syntax::Plain, |name| {
        lookup(name)
    }) {
        Err(failed) => unresolved.extend(
            failed
                .into_iter()
                .map(|error| Unresolved { path: path.clone(), reason: error.problem.to_string() }),
        ),
        Ok(text) if text.names.iter().any(|name| !secrets.allowed_variables().allows(name)) => {
            let refused = text.names.iter().filter(|name| !secrets.allowed_variables().allows(name));
            unresolved.extend(
                refused.map(|name| Unresolved { path: path.clone(), reason: load::not_allowed(name) }),
            );
        }
        Ok(text) => match parse(&text.text) {
            Ok(None) => {}
            Ok(Some(reference)) => references.push((path, reference)),
            // Refused outright, wherever it stands.
            Err(ReferenceError::Reserved { .. }) => {}
            Err(error) => unresolved.push(Unresolved { path, reason: error.to_string() }),
        },
    });
    let wanted: BTreeSet<_> = references.iter().map(|(_, reference)| reference.clone()).collect();
    let readings = secrets.read(wanted).await;
    unresolved.extend(references.into_iter().filter_map(|(path, reference)| {
        let error = readings.resolve(&reference).err()?;
        Some(Unresolved { path, reason: error.to_string() })
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
