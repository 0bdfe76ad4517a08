//! The settings of a MongoDB deployment, ready for use.

use std::time::Duration;

use mongodb::options::ConnectionString;
use svc_model::config::SecretText;
use svc_model::config::connector::{DbConfig, DialectConfig, OperationSwitches};

/// The settings of a MongoDB deployment.
pub(crate) struct MongoSettings {
    /// The servers and the credentials.
    pub(crate) connection_string: SecretText,
    /// Most connections to one server; `None` for the driver's default.
    pub(crate) max_connections: Option<u32>,
    /// Time limit of finding a server and connecting to it.
    pub(crate) connect_timeout: Duration,
    /// Time limit of one operation.
    pub(crate) query_timeout: Duration,
    pub(crate) allow_private: bool,
    /// Most bytes of a result, if the server allows as many; `None` for the server's own bound.
    max_result_bytes: Option<u64>,
    pub(crate) operations: OperationSwitches,
    pub(crate) dialect: DialectConfig,
    /// Allows aggregations to write.
    pub(crate) aggregate_write_stages: bool,
}

impl MongoSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &DbConfig) -> Result<Self, String> {
        // The driver's own text repeats parts of the string.
        ConnectionString::parse(config.connection_string.expose()).map_err(|_| {
            "connector.config.connection_string: not a connection string MongoDB's drivers can read; \
             user and password are URL-encoded, a port is a number"
        })?;
        Ok(Self {
            connection_string: config.connection_string.clone(),
            max_connections: config.max_connections.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
            connect_timeout: Duration::from_millis(config.connect_timeout_ms),
            query_timeout: Duration::from_millis(config.query_timeout_ms),
            allow_private: config.allow_private_urls,
            max_result_bytes: config.max_result_bytes,
            operations: config.operations.clone(),
            dialect: config.dialect.clone(),
            aggregate_write_stages: config.aggregate_write_stages,
        })
    }

    /// Most bytes of a result of this connector, if the server's bound is this.
    pub(crate) fn max_bytes(&self, server: u64) -> usize {
        let most = self.max_result_bytes.map_or(server, |own| own.min(server));
        usize::try_from(most).unwrap_or(usize::MAX)
    }
}
