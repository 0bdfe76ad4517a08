//! The task functions over connectors.

mod cache;
mod call;
mod data;
mod db;
mod http_call;
mod input;
mod mongo;
mod publish_kafka;
mod request;
mod response;
mod retry;
mod send_email;
mod sql;
mod storage_head;
mod storage_presign;

use std::sync::Arc;
use std::time::Duration;

use svc_engine::EngineBuilder;

use crate::handle::Connectors;

pub(crate) use cache::LONGEST_SECS;
pub(crate) use call::{ask, gate, guarded, kind};

/// What calls have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSettings {
    /// How long one attempt of an HTTP call may take when its task does not say.
    pub http_timeout: Duration,
    /// Bounds of reads.
    pub query: QuerySettings,
    /// Bounds of writes.
    pub write: WriteSettings,
}

/// Bounds of reads from databases and search engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySettings {
    /// Rows when a task sets no limit.
    pub default_limit: u64,
    /// Most rows of a result.
    pub max_limit: u64,
    /// Most rows a task may skip.
    pub max_skip: u64,
    /// Most bytes of a result, as it is held in memory. A connector may set less.
    pub max_result_bytes: u64,
}

/// Bounds of writes to databases and search engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSettings {
    /// Most rows of one write.
    pub max_rows: u64,
    /// Whether an update or delete may go without a filter.
    pub allow_unfiltered: bool,
}

/// Registers the functions.
#[must_use]
pub fn register(builder: EngineBuilder, connectors: &Connectors, settings: CallSettings) -> EngineBuilder {
    builder
        .function(Arc::new(cache::CacheRead(connectors.clone())))
        .function(Arc::new(cache::CacheWrite(connectors.clone())))
        .function(Arc::new(publish_kafka::PublishKafka(connectors.clone())))
        .function(Arc::new(http_call::HttpCall::new(connectors.clone(), settings.http_timeout)))
        .function(Arc::new(mongo::MongoRead::new(connectors.clone(), settings.query)))
        .function(Arc::new(mongo::MongoWrite::new(connectors.clone(), settings.write)))
        .function(Arc::new(mongo::MongoAggregate::new(connectors.clone(), settings.query)))
        .function(Arc::new(send_email::SendEmail::new(connectors.clone())))
        .function(Arc::new(storage_head::StorageHead::new(connectors.clone())))
        .function(Arc::new(storage_presign::StoragePresign::new(connectors.clone())))
        .function(Arc::new(data::DataQuery::new(connectors.clone(), settings)))
        .function(Arc::new(data::DataWrite::new(connectors.clone(), settings)))
        .function(Arc::new(db::DbRead::new(connectors.clone(), settings.query)))
        .function(Arc::new(db::DbWrite::new(connectors.clone())))
}
