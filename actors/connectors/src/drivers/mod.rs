//! The connector types, one folder each: typed settings, the actor that carries out calls, and its probe.
//!
//! [`resolve`] registers them. Heavy drivers are features of the crate; a connector of a type that was left
//! out fails to load.

mod broker_health;
pub(crate) mod cache;
mod db;
#[cfg(feature = "es")]
pub(crate) mod es;
pub(crate) mod failure;
pub(crate) mod http;
#[cfg(any(feature = "mongo", feature = "sql"))]
pub(crate) mod integrity;
#[cfg(feature = "kafka")]
pub(crate) mod kafka;
#[cfg(feature = "mongo")]
pub(crate) mod mongo;
pub(crate) mod own_database;
pub(crate) mod pool;
#[cfg(feature = "smtp")]
pub(crate) mod smtp;
#[cfg(feature = "sql")]
pub(crate) mod sql;
#[cfg(feature = "storage")]
pub(crate) mod storage;

use svc_model::config::connector::ConnectorConfig;

use crate::driver::ResolveResult;

pub use broker_health::BrokerHealth;
pub use own_database::OwnDatabase;

/// Makes the match over all types; one with a feature resolves to an error if the feature is off.
macro_rules! connector_types {
    ($config:ident: $($variant:ident $(if $feature:tt)? => $resolve:path,)+) => {
        match $config {
            $(
                $(#[cfg(feature = $feature)])?
                ConnectorConfig::$variant(config) => $resolve(config),
                $(
                    #[cfg(not(feature = $feature))]
                    ConnectorConfig::$variant(_) => Err(missing_driver($config.kind().name(), $feature)),
                )?
            )+
        }
    };
}

/// Makes settings of a config whose placeholders and references are replaced. This is the registration of the
/// types: a type without its line does not compile.
///
/// # Errors
/// A text that names the unusable field without its value, or the feature that this build was made without.
pub(crate) fn resolve(config: &ConnectorConfig) -> ResolveResult {
    connector_types! { config:
        Cache => cache::resolve,
        Db => db::resolve,
        Es if "es" => es::resolve,
        Http => http::resolve,
        Kafka if "kafka" => kafka::resolve,
        Smtp if "smtp" => smtp::resolve,
        Storage if "storage" => storage::resolve,
    }
}

/// Returns the reason why a connector cannot be loaded by a build without its driver.
#[cfg(not(all(
    feature = "es",
    feature = "kafka",
    feature = "mongo",
    feature = "smtp",
    feature = "sql",
    feature = "storage"
)))]
fn missing_driver(system: &str, feature: &str) -> String {
    format!("this build has no driver for {system}: it was compiled without the feature '{feature}'")
}

#[cfg(test)]
mod tests;
