//! The stored connectors: their secrets, and the hosts that they name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use svc_model::config::value_reference::{ValueScope, is_value_reference, replace_value_references};
use svc_model::{Connector, is_unreadable};
use svc_secrets::{Keyring, Readings, Resolver as _, Syntax, substitute};

use super::hosts::{NamedHost, host_of_place, hosts_of_url};
use super::report::DoctorReport;

const CHECK: &str = "connectors";
/// Keys whose texts name no host that is dialled.
const NO_HOSTS: [&str; 4] = ["dialect", "headers", "operations", "query_params"];

/// Checks the secrets of the connectors that are loaded, and returns their hosts.
pub(super) async fn check_connectors(
    connectors: &[Connector],
    environment: &[(String, String)],
    keyring: &Keyring,
    declared: &Map<String, Value>,
    report: &mut DoctorReport,
) -> Vec<NamedHost> {
    let mut references = BTreeSet::new();
    let loaded = || connectors.iter().filter(|connector| connector.content.enabled);
    loaded().for_each(|connector| svc_secrets::collect(&connector.content.config, &mut references));
    let readings = keyring.read(references).await;
    let mut hosts = Vec::new();
    for connector in loaded() {
        let config = &connector.content.config;
        let entity = format!("connector '{}'", connector.content.name);
        if is_unreadable(config) {
            let remedy =
                "give the key that it was stored under in storage.previous_connector_encryption_keys";
            report.add_error(CHECK, &entity, "its settings cannot be read with the keys of storage", remedy);
            continue;
        }
        let mut config = config.clone();
        let replaced = replace_value_references(ValueScope::ConnectorConfig, &mut config, Some(declared));
        for problem in replaced.err().unwrap_or_default() {
            report.add_error("vars", &entity, problem.to_string(), "declare it in [vars] of this server");
        }
        let config = &config;
        let mut texts = ConnectorTexts { readings: &readings, keyring, environment, values: Vec::new() };
        let mut problems = BTreeSet::new();
        texts.collect("", config, &mut problems);
        for problem in problems {
            let remedy =
                "give it a value where the server runs, and allow it in secrets.allowed_env if that is set";
            report.add_error("secrets", &entity, problem, remedy);
        }
        let allow_private = config["allow_private_urls"] == Value::Bool(true);
        hosts.extend(texts.hosts().into_iter().map(|host| NamedHost {
            setting: entity.clone(),
            host,
            allow_private,
        }));
    }
    hosts
}

/// The texts of one connector that may name a host, with their keys, secrets replaced.
struct ConnectorTexts<'c> {
    readings: &'c Readings,
    keyring: &'c Keyring,
    environment: &'c [(String, String)],
    values: Vec<(String, String)>,
}

impl ConnectorTexts<'_> {
    /// Collects the texts below a key, and the secrets that have no value.
    fn collect(&mut self, key: &str, value: &Value, problems: &mut BTreeSet<String>) {
        match value {
            // One that stands for no value was reported.
            Value::String(text) if is_value_reference(text) => {}
            Value::String(text) => match self.replace(text) {
                Ok(text) if !NO_HOSTS.contains(&key) => self.values.push((key.to_owned(), text)),
                Ok(_) => {}
                Err(problem) => drop(problems.insert(problem)),
            },
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.collect(key, element, problems));
            }
            Value::Object(members) => {
                for (name, member) in members {
                    // What lies below such a key is of its kind.
                    let name = if NO_HOSTS.contains(&key) { key } else { name.as_str() };
                    self.collect(name, member, problems);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces the placeholders of a text, or the reference that it is. The error names no value.
    fn replace(&self, text: &str) -> Result<String, String> {
        if let Ok(Some(reference)) = svc_secrets::parse(text) {
            let value = self.readings.resolve(&reference).map_err(|error| error.to_string())?;
            return Ok(value.expose().to_owned());
        }
        let lookup = |wanted: &str| {
            let allowed = self.keyring.allowed_variables().allows(wanted);
            let variable = self.environment.iter().find(|(name, _)| allowed && name == wanted);
            variable.map(|(_, value)| value.clone())
        };
        let replaced = substitute(text, Syntax::Plain, lookup).map(|replaced| replaced.text);
        let first = |errors: Vec<svc_secrets::SubstituteError>| {
            errors.first().map(|error| error.problem.to_string()).unwrap_or_default()
        };
        replaced.map_err(first)
    }

    fn hosts(&self) -> BTreeSet<String> {
        let hosts = self.values.iter().flat_map(|(key, text)| match key.as_str() {
            "host" => vec![text.as_str()],
            "brokers" => vec![host_of_place(text)],
            _ => hosts_of_url(text),
        });
        hosts.map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::json;
    use svc_model::{ConnectorContent, Timestamp};
    use svc_project::Severity;
    use svc_secrets::EnvironmentResolver;

    use super::*;

    /// Returns the secrets of a process with one variable.
    fn keyring() -> Keyring {
        let value = |name: &str| (name == "DB_URL").then(|| "postgres://u:p@inner.example/db".to_owned());
        Keyring::new(Arc::new(EnvironmentResolver(value)), BTreeMap::new())
    }

    fn connector(name: &str, config: Value) -> Connector {
        let content = ConnectorContent {
            name: name.into(),
            connector_type: "db".into(),
            config,
            enabled: true,
            tags: Vec::new(),
        };
        Connector { id: name.into(), content, created_at: Timestamp::now(), updated_at: Timestamp::now() }
    }

    #[tokio::test]
    async fn hosts_are_found_behind_secrets() {
        let keyring = keyring();
        let environment = [("API".to_owned(), "api.example".to_owned())];
        let connectors = [
            connector("db", json!({"connection_string": "env://DB_URL"})),
            connector(
                "api",
                json!({"url": "https://${API}/v1", "headers": {"referer": "https://none.example"}}),
            ),
            connector("mail", json!({"host": "mail.example", "allow_private_urls": true})),
            connector("kafka", json!({"brokers": ["b1.example:9092", "b2.example:9092"]})),
        ];
        let mut report = DoctorReport::default();
        let hosts = check_connectors(&connectors, &environment, &keyring, &Map::new(), &mut report).await;
        let names: Vec<_> = hosts.iter().map(|named| named.host.as_str()).collect();
        assert_eq!(names, ["inner.example", "api.example", "mail.example", "b1.example", "b2.example"]);
        assert!(hosts[2].allow_private && !hosts[1].allow_private);
        assert!(report.findings().is_empty(), "{:?}", report.findings());
    }

    #[tokio::test]
    async fn declared_value_leads_to_its_host() {
        let keyring = keyring();
        let connectors =
            [connector("a", json!({"url": "var://address"})), connector("b", json!({"url": "var://gone"}))];
        let declared = Map::from_iter([("address".to_owned(), json!("https://a.example"))]);
        let mut report = DoctorReport::default();
        let hosts = check_connectors(&connectors, &[], &keyring, &declared, &mut report).await;
        assert_eq!(hosts.iter().map(|named| named.host.as_str()).collect::<Vec<_>>(), ["a.example"]);
        let text = format!("{:?}", report.findings());
        assert!(report.count(Severity::Error) == 1 && text.contains("var://gone"), "{text}");
    }

    #[tokio::test]
    async fn secret_without_value_is_an_error() {
        let keyring = keyring();
        let connectors = [
            connector("a", json!({"url": "https://${GONE}/v1"})),
            connector(
                "b",
                json!({"url": "https://b.example", "auth": {"type": "bearer", "token": "env://LOST"}}),
            ),
        ];
        let mut report = DoctorReport::default();
        check_connectors(&connectors, &[], &keyring, &Map::new(), &mut report).await;
        assert_eq!(report.count(Severity::Error), 2, "{:?}", report.findings());
        let text = format!("{:?}", report.findings());
        assert!(text.contains("GONE") && text.contains("LOST"), "{text}");
    }
}
