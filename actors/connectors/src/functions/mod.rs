//! The task functions over connectors.

mod cache;
mod cache_keys;
mod call;
mod cloud_event;
#[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
mod data;
#[cfg(feature = "sql")]
mod db;
mod http_call;
mod input;
#[cfg(feature = "mongo")]
mod mongo;
mod outside;
#[cfg(feature = "kafka")]
mod publish_kafka;
mod request;
mod response;
mod retry;
#[cfg(feature = "smtp")]
mod send_email;
mod settings;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "storage")]
mod storage_head;
#[cfg(feature = "storage")]
mod storage_object;
#[cfg(feature = "storage")]
mod storage_presign;

use std::sync::Arc;

use svc_engine::EngineBuilder;

use crate::directory::ConnectorDirectory;

pub(crate) use call::{Caller, NO_CHANNEL, call_driver, call_with_breaker, check_operation, driver_of};
pub(crate) use outside::OutsideAddress;
pub(crate) use response::{refused_error, unanswered_error};
pub use settings::{CallSettings, QuerySettings, WriteSettings};

/// The functions of the heavy drivers, with the cargo features that bring them.
pub const DRIVER_FUNCTIONS: [(&str, &[&str]); 6] = [
    ("'kafka'", &["publish_kafka"]),
    ("'mongo'", &["mongo_read", "mongo_write", "mongo_aggregate"]),
    ("'smtp'", &["send_email"]),
    ("'sql'", &["db_read", "db_write"]),
    ("'sql', 'mongo' or 'es'", &["data_query", "data_write"]),
    ("'storage'", &["storage_head", "storage_presign", "storage_read", "storage_write"]),
];

/// Registers the functions over connectors. A function whose driver was left out of this build is only
/// declared.
#[must_use]
pub fn register(
    builder: EngineBuilder,
    connectors: &ConnectorDirectory,
    settings: CallSettings,
) -> EngineBuilder {
    let builder = DRIVER_FUNCTIONS
        .iter()
        .fold(builder, |builder, (features, names)| builder.optional_functions(features, names))
        .function(Arc::new(cache_keys::CacheDelete(connectors.clone())))
        .function(Arc::new(cache_keys::CacheIncrement(connectors.clone())))
        .function(Arc::new(cache::CacheRead(connectors.clone())))
        .function(Arc::new(cache::CacheWrite(connectors.clone())))
        .function(Arc::new(http_call::HttpCall::new(connectors.clone(), settings.http_timeout)));
    #[cfg(feature = "kafka")]
    let builder = builder.function(Arc::new(publish_kafka::PublishKafka(connectors.clone())));
    #[cfg(feature = "mongo")]
    let builder = builder
        .function(Arc::new(mongo::MongoRead::new(connectors.clone(), settings.query)))
        .function(Arc::new(mongo::MongoWrite::new(connectors.clone(), settings.write)))
        .function(Arc::new(mongo::MongoAggregate::new(connectors.clone(), settings.query)));
    #[cfg(feature = "smtp")]
    let builder = builder.function(Arc::new(send_email::SendEmail::new(connectors.clone())));
    #[cfg(feature = "storage")]
    let builder = builder
        .function(Arc::new(storage_head::StorageHead::new(connectors.clone())))
        .function(Arc::new(storage_presign::StoragePresign::new(connectors.clone())))
        .function(Arc::new(storage_object::StorageRead(connectors.clone())))
        .function(Arc::new(storage_object::StorageWrite(connectors.clone())));
    #[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
    let builder = builder
        .function(Arc::new(data::DataQuery::new(connectors.clone(), settings)))
        .function(Arc::new(data::DataWrite::new(connectors.clone(), settings)));
    #[cfg(feature = "sql")]
    let builder = builder
        .function(Arc::new(db::DbRead::new(connectors.clone(), settings.query)))
        .function(Arc::new(db::DbWrite::new(connectors.clone())));
    builder
}
