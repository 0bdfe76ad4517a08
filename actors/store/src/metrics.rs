//! Metrics of the store.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use prometheus_client::encoding::{
    EncodeLabelSet, EncodeLabelValue, EncodeMetric, LabelValueEncoder, MetricEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

use crate::connections::pool::{ConnectionPool, PoolState};

/// A method of a repository. Both parts are fixed, so the label has few values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueryOperation {
    repository: &'static str,
    method: &'static str,
}

impl QueryOperation {
    pub(crate) const fn new(repository: &'static str, method: &'static str) -> Self {
        Self { repository, method }
    }
}

impl EncodeLabelValue for QueryOperation {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        write!(encoder, "{}.{}", self.repository, self.method)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: QueryOperation,
}

/// The duration of reads and writes for their callers, by repository and method.
#[derive(Clone, Debug)]
pub(crate) struct Queries(Family<Labels, Histogram, fn() -> Histogram>);

impl Queries {
    pub(crate) fn new() -> Self {
        Self(Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)))
    }

    pub(crate) fn observe(&self, operation: QueryOperation, took: Duration) {
        self.0.get_or_create(&Labels { operation }).observe(took.as_secs_f64());
    }
}

/// The metrics of a store. Cheap to clone.
#[derive(Clone)]
pub struct StoreMetrics {
    pub(crate) queries: Queries,
    pub(crate) pool: ConnectionPool,
}

impl StoreMetrics {
    /// Registers `db_query_duration_seconds`, from a call to its answer, and `db_pool_size` and
    /// `db_pool_idle`, which are read at the scrape. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "db_query_duration_seconds",
            "Time of a read or a write until its answer",
            self.queries.0.clone(),
        );
        let gauge = |read| PoolGauge { pool: self.pool.clone(), read };
        registry.register("db_pool_size", "Connections of the pool", gauge(|pool| pool.size));
        registry.register(
            "db_pool_idle",
            "Connections of the pool that wait for work",
            gauge(|pool| pool.idle),
        );
    }
}

impl fmt::Debug for StoreMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreMetrics").finish_non_exhaustive()
    }
}

/// A gauge of the pool, read when it is scraped.
struct PoolGauge {
    pool: ConnectionPool,
    read: fn(PoolState) -> u32,
}

impl EncodeMetric for PoolGauge {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        ConstGauge::new(i64::from((self.read)(self.pool.state()))).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

impl fmt::Debug for PoolGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolGauge").finish_non_exhaustive()
    }
}
