//! The types of connectors: of each its settings, the actor that carries calls out, and how it is tried out.
//!
//! A type adds itself to [`Ready`] and [`Driver`]; what goes over all of them is in the roster and the functions.

pub(crate) mod cache;
pub(crate) mod es;
pub(crate) mod failure;
pub(crate) mod http;
pub(crate) mod integrity;
pub(crate) mod kafka;
pub(crate) mod mongo;
mod pool;
pub(crate) mod smtp;
pub(crate) mod sql;
pub(crate) mod storage;

use std::sync::Arc;

use actix_supervision::{ChildSpec, Placement, SpawnError, Tree};
use slog::Logger;
use svc_model::ConnectorType;
use svc_model::config::connector::{ConnectorConfig, DatabaseKind};

use crate::handle::Settings;
use crate::probe::Probe;
use cache::{CacheDriver, CacheSettings};
use es::{EsDriver, EsSettings};
use http::{HttpDriver, HttpSettings};
use kafka::{KafkaDriver, KafkaSettings};
use mongo::{MongoDriver, MongoSettings};
pub(crate) use pool::{OpenPools, Slot};
use smtp::{SmtpDriver, SmtpSettings};
pub use sql::OwnDatabase;
use sql::{SqlDriver, SqlSettings};
use storage::{StorageDriver, StorageSettings};

/// The settings of a connector, ready for use.
#[derive(Clone)]
pub(crate) enum Ready {
    Cache(Arc<CacheSettings>),
    Http(Arc<HttpSettings>),
    Es(Arc<EsSettings>),
    Mongo(Arc<MongoSettings>),
    Kafka(Arc<KafkaSettings>),
    Smtp(Arc<SmtpSettings>),
    Storage(Arc<StorageSettings>),
    Sql(Arc<SqlSettings>),
}

/// What carries a connector's calls out.
pub(crate) enum Driver {
    Cache(CacheDriver),
    Http(HttpDriver),
    Es(EsDriver),
    Mongo(MongoDriver),
    Kafka(KafkaDriver),
    Smtp(SmtpDriver),
    Storage(StorageDriver),
    Sql(SqlDriver),
}

/// One kind of [`Driver`].
pub(crate) trait Kind: Sized {
    /// What a connector must be for its calls, as errors say it.
    const NEEDED: &'static str;

    /// This kind of a driver; `None` for another.
    fn of(driver: &Driver) -> Option<&Self>;
}

/// Where an actor is started.
pub(crate) struct Spot<'s> {
    pub(crate) tree: &'s Tree,
    pub(crate) path: &'s str,
    /// Name of the connector.
    pub(crate) name: &'s str,
    pub(crate) spec: ChildSpec,
    pub(crate) at: Placement,
    pub(crate) with: &'s Settings,
    pub(crate) pools: &'s OpenPools,
    pub(crate) log: &'s Logger,
}

impl Ready {
    /// Makes settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// What cannot be used, without its value.
    pub(crate) fn of(config: ConnectorConfig) -> Result<Self, String> {
        match config {
            ConnectorConfig::Cache(config) => {
                CacheSettings::new(&config).map(|settings| Self::Cache(Arc::new(settings)))
            }
            ConnectorConfig::Kafka(config) => Ok(Self::Kafka(Arc::new(KafkaSettings::new(*config)))),
            ConnectorConfig::Http(config) => {
                HttpSettings::new(&config).map(|settings| Self::Http(Arc::new(settings)))
            }
            ConnectorConfig::Es(config) => {
                EsSettings::new(&config).map(|settings| Self::Es(Arc::new(settings)))
            }
            ConnectorConfig::Db(config)
                if DatabaseKind::of(config.connection_string.expose()) == Some(DatabaseKind::Mongo) =>
            {
                MongoSettings::new(&config).map(|settings| Self::Mongo(Arc::new(settings)))
            }
            ConnectorConfig::Smtp(config) => {
                SmtpSettings::new(&config).map(|settings| Self::Smtp(Arc::new(settings)))
            }
            ConnectorConfig::Storage(config) => {
                StorageSettings::new(&config).map(|settings| Self::Storage(Arc::new(settings)))
            }
            ConnectorConfig::Db(config) => {
                SqlSettings::new(&config).map(|settings| Self::Sql(Arc::new(settings)))
            }
        }
    }

    /// Whether connectors of a type can be tried out.
    pub(crate) const fn probes(kind: ConnectorType) -> bool {
        use ConnectorType::{Cache, Db, Es, Http, Kafka, Smtp, Storage};
        matches!(kind, Cache | Db | Es | Http | Kafka | Smtp | Storage)
    }

    /// The reason why every call of such a connector would be refused here, whatever runs of it.
    pub(crate) fn refusal(&self, with: &Settings) -> Option<String> {
        match self {
            Self::Kafka(settings) => kafka::refusal(settings, with),
            _ => None,
        }
    }

    /// Asks what the settings of a connector lead to, beside whatever runs of them.
    pub(crate) async fn probe(&self, name: &str, with: &Settings) -> Probe {
        match self {
            Self::Cache(settings) => cache::probe(settings, &with.outbound).await,
            Self::Kafka(settings) => kafka::probe(settings, with).await,
            Self::Http(settings) => http::probe(name, settings, with).await,
            Self::Es(settings) => es::probe(name, settings, with).await,
            Self::Mongo(settings) => mongo::probe(settings, &with.outbound).await,
            Self::Smtp(settings) => smtp::probe(settings, &with.outbound).await,
            Self::Storage(settings) => storage::probe(settings, &with.outbound).await,
            Self::Sql(settings) => sql::probe(name, settings, with).await,
        }
    }

    /// Starts the actor.
    ///
    /// # Errors
    /// The path is taken, or the place is gone.
    pub(crate) async fn start(&self, spot: Spot<'_>) -> Result<Driver, SpawnError> {
        match self {
            Self::Cache(settings) => CacheDriver::start(settings, spot).await.map(Driver::Cache),
            Self::Kafka(settings) => KafkaDriver::start(settings, spot).await.map(Driver::Kafka),
            Self::Http(settings) => HttpDriver::start(settings, spot).await.map(Driver::Http),
            Self::Es(settings) => EsDriver::start(settings, spot).await.map(Driver::Es),
            Self::Mongo(settings) => MongoDriver::start(settings, spot).await.map(Driver::Mongo),
            Self::Smtp(settings) => SmtpDriver::start(settings, spot).await.map(Driver::Smtp),
            Self::Storage(settings) => StorageDriver::start(settings, spot).await.map(Driver::Storage),
            Self::Sql(settings) => SqlDriver::start(settings, spot).await.map(Driver::Sql),
        }
    }
}
