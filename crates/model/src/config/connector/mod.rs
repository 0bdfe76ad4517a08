//! The settings of connectors, one type for each connector type.
//!
//! One reader serves validation and loading. The config of an author may still hold placeholders (`${VAR}`)
//! and references, whose form is not checked; loading passes the replaced values. Unknown keys are ignored,
//! except in the blocks `operations`, `retry`, `dialect`, `auth` and `sign`, which are strict. Problems name fields,
//! never values, because values may be secrets.

mod auth;
mod cache;
mod db;
mod es;
mod fields;
mod headers;
mod http;
mod kafka;
mod masking;
mod oauth2;
mod sign;
mod smtp;
mod storage;
mod unresolved;

use serde_json::Value;

use crate::config::block::ConfigBlock;
use crate::config::key_reference::BlockReference;
use crate::entity::ConnectorType;
use crate::field::{FieldCode, FieldError, Issue};

pub use auth::HttpAuth;
pub use cache::{CacheBackend, CacheConfig};
pub use db::{DatabaseKind, DbConfig};
pub use es::EsConfig;
pub use fields::{DialectConfig, OperationSwitches};
pub use headers::check_header;
pub use http::{HttpConfig, HttpOperations, RetryConfig};
pub use kafka::{KafkaConfig, KafkaProtocol, KafkaSasl, KafkaSecurity};
pub use masking::{mask_connector_config, restore_connector_config};
pub use oauth2::{OAuth2, OAuth2ClientAuth, OAuth2Grant};
pub use sign::SigningConfig;
pub use smtp::{SmtpConfig, SmtpTls};
pub use storage::StorageConfig;
pub use unresolved::is_unresolved;

/// Path of the config in a connector document.
pub(crate) const ROOT: &str = "connector.config";

/// The reference of one connector type.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorReference {
    /// The connector type.
    pub kind: ConnectorType,
    /// The blocks; the first is the config itself, which takes unknown keys with a warning. The others refuse them.
    pub blocks: &'static [BlockReference],
}

/// Declares the settings of each connector type.
macro_rules! connector_configs {
    ($($(#[doc = $about:literal])+ $variant:ident($config:ident),)+) => {
        /// The settings of a connector.
        #[derive(Clone, Debug)]
        pub enum ConnectorConfig { $( $(#[doc = $about])+ $variant(Box<$config>), )+ }

        impl ConnectorConfig {
            fn read_kind(kind: ConnectorType, block: &mut ConfigBlock<'_>) -> Option<Self> {
                match kind { $(
                    ConnectorType::$variant => {
                        $config::read(block).map(|config| Self::$variant(Box::new(config)))
                    }
                )+ }
            }

            /// Returns the connector type of these settings.
            pub const fn kind(&self) -> ConnectorType {
                match self { $( Self::$variant(_) => ConnectorType::$variant, )+ }
            }

            /// Returns true if private addresses are allowed.
            pub fn allows_private(&self) -> bool {
                match self { $( Self::$variant(config) => config.allow_private_urls, )+ }
            }
        }

        /// All connector types, for the schemas and the masks.
        pub static CONNECTORS: [ConnectorReference; ConnectorType::ALL.len()] =
            [ $( ConnectorReference { kind: ConnectorType::$variant, blocks: $config::BLOCKS }, )+ ];
    };
}

connector_configs! {
    /// An HTTP API.
    Http(HttpConfig),
    /// Elasticsearch.
    Es(EsConfig),
    /// A database.
    Db(DbConfig),
    /// A cache.
    Cache(CacheConfig),
    /// Kafka brokers.
    Kafka(KafkaConfig),
    /// A mail server.
    Smtp(SmtpConfig),
    /// An object store.
    Storage(StorageConfig),
}

/// A network destination in the settings of a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionTarget<'c> {
    /// An http or https URL.
    Url(&'c str),
    /// A host name or address.
    Host(&'c str),
}

impl ConnectorConfig {
    /// Reads a config, either as authored or with its placeholders and references replaced.
    ///
    /// # Errors
    /// All problems (at least one), each with its path.
    pub fn parse(kind: ConnectorType, config: &Value) -> Result<Self, Vec<FieldError>> {
        Self::read(kind, &mut root(config).map_err(|error| vec![error])?)
    }

    /// Does the work of [`parse`](Self::parse) and returns a warning for each key without effect.
    pub(crate) fn inspect(
        kind: ConnectorType,
        config: &Value,
    ) -> (Result<Self, Vec<FieldError>>, Vec<Issue>) {
        let mut block = match root(config) {
            Ok(block) => block,
            Err(error) => return (Err(vec![error]), Vec::new()),
        };
        let read = Self::read(kind, &mut block);
        let unknown = block.unknown().map(|error| {
            let message = error.message.replacen("unknown field", "this key has no effect", 1);
            Issue::new(error.path, message).with_code(FieldCode::UnknownField)
        });
        (read, unknown.collect())
    }

    fn read(kind: ConnectorType, block: &mut ConfigBlock<'_>) -> Result<Self, Vec<FieldError>> {
        // The service itself adds this key, from the type of the connector.
        block.any("type");
        let config = Self::read_kind(kind, block);
        let problems = block.take_problems();
        config.filter(|_| problems.is_empty()).ok_or(problems)
    }

    /// Returns the destinations of connections with the paths of their fields, except for placeholders and
    /// references.
    pub fn connection_targets(&self) -> Vec<(String, ConnectionTarget<'_>)> {
        match self {
            Self::Http(config) => {
                let token_url = match &config.auth {
                    Some(HttpAuth::OAuth2(oauth)) => url_target("auth.token_url", &oauth.token_url),
                    _ => None,
                };
                url_target("url", &config.url).into_iter().chain(token_url).collect()
            }
            Self::Es(config) => url_target("url", &config.url).into_iter().collect(),
            Self::Storage(config) => url_target("endpoint", &config.endpoint).into_iter().collect(),
            Self::Smtp(config) => host_target("host", &config.host).into_iter().collect(),
            Self::Db(config) => match config.connection_string.expose() {
                file if DatabaseKind::from_connection_string(file) == Some(DatabaseKind::Sqlite) => {
                    Vec::new()
                }
                url => host_targets("connection_string", url),
            },
            Self::Cache(config) => match &config.backend {
                CacheBackend::Redis { url } => host_targets("url", url.expose()),
                CacheBackend::Memory => Vec::new(),
            },
            Self::Kafka(config) => {
                let brokers = config.brokers.iter().enumerate();
                brokers
                    .filter_map(|(index, broker)| host_target(&format!("brokers[{index}]"), broker))
                    .collect()
            }
        }
    }
}

/// Returns the destination of a field with an http or https URL.
fn url_target<'c>(field: &str, url: &'c str) -> Option<(String, ConnectionTarget<'c>)> {
    (!is_unresolved(url)).then(|| (format!("{ROOT}.{field}"), ConnectionTarget::Url(url)))
}

/// Returns the destination of a field with a host, which may have a port.
fn host_target<'c>(field: &str, host: &'c str) -> Option<(String, ConnectionTarget<'c>)> {
    let target = || ConnectionTarget::Host(fields::split_port(host).0);
    (!is_unresolved(host)).then(|| (format!("{ROOT}.{field}"), target()))
}

/// Returns the destinations of a field with a URL of another scheme, which may name several hosts.
fn host_targets<'c>(field: &str, url: &'c str) -> Vec<(String, ConnectionTarget<'c>)> {
    if is_unresolved(url) {
        return Vec::new();
    }
    let target = |host| (format!("{ROOT}.{field}"), ConnectionTarget::Host(host));
    fields::hosts(url).map(target).collect()
}

fn root(config: &Value) -> Result<ConfigBlock<'_>, FieldError> {
    ConfigBlock::open(Some("connector"), ROOT.to_owned(), config)
}

#[cfg(test)]
mod tests;
