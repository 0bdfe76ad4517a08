//! Configuration: what may be set, where it comes from, and what is refused.
//!
//! A file and the environment go in, one checked [`Config`] comes out, or every problem at once. Nothing outside this
//! module reads the environment; nothing here keeps state or reads anything after the start.

mod cluster;
mod declared;
mod edge;
mod execution;
mod file;
mod load;
mod network;
mod overrides;
mod problem;
mod production;
mod setting;
mod show;
mod storage;
mod telemetry;
mod unavailable;

pub use cluster::{Cluster, Kafka, KafkaAuth, KafkaDlq, SaslMechanism, SecurityProtocol, TopicMapping};
pub use declared::{Properties, Secrets, Vars};
pub use edge::{
    AdminAuth, ChannelFilter, Compression, Cors, Docs, Ingest, RateLimit, RateLimitEndpoints, Server, Tls,
};
pub use execution::{CircuitBreaker, Cron, Engine, Jwt, Query, Write};
pub use load::{Loaded, load, parse};
pub use network::{Network, NetworkError};
pub use problem::{ConfigError, Problem};
pub use show::{Format, render};
pub use storage::{Audit, Overflow, Storage, TraceMode, TraceQueue, TraceStorage};
pub use telemetry::{LogFormat, LogLevel, Logging, Metrics, Tracing};

use setting::section;

#[cfg(test)]
mod tests;

section! {
    /// The whole configuration; `Config::default()` is that of an empty file.
    pub struct Config {
        /// Name of the environment. One that starts with `prod` is production, which has stricter rules.
        pub environment: String = "development".into(),
        /// The main listener.
        pub server: Server = Server::default(),
        /// The database.
        pub storage: Storage = Storage::default(),
        /// What the data plane takes in.
        pub ingest: Ingest = Ingest::default(),
        /// The log.
        pub logging: Logging = Logging::default(),
        /// Metrics.
        pub metrics: Metrics = Metrics::default(),
        /// Export of spans.
        pub tracing: Tracing = Tracing::default(),
        /// How traces are stored.
        pub trace_storage: TraceStorage = TraceStorage::default(),
        /// Requests taken for later.
        pub trace_queue: TraceQueue = TraceQueue::default(),
        /// The record of admin changes.
        pub audit: Audit = Audit::default(),
        /// The engine.
        pub engine: Engine = Engine::default(),
        /// Reads of the `data_query` function.
        pub query: Query = Query::default(),
        /// Writes of the `data_write` function.
        pub write: Write = Write::default(),
        /// Key sets.
        pub jwt: Jwt = Jwt::default(),
        /// Channels that run by the clock.
        pub cron: Cron = Cron::default(),
        /// Channels fed by Kafka.
        pub kafka: Kafka = Kafka::default(),
        /// Several nodes.
        pub cluster: Cluster = Cluster::default(),
        /// Limits per client.
        pub rate_limit: RateLimit = RateLimit::default(),
        /// Who may use the admin API.
        pub admin_auth: AdminAuth = AdminAuth::default(),
        /// Browsers of other origins.
        pub cors: Cors = Cors::default(),
        /// Which channels this node serves.
        pub channel_filter: ChannelFilter = ChannelFilter::default(),
        /// Plain values for workflows (`metadata.vars`): strings, numbers, booleans, arrays, tables. They show in traces.
        pub vars: Vars = Vars::default(),
        /// Names that workflows use for secrets, each with the reference (`env://…`, `vault://…`) it stands for. `allowed_env` is
        /// no such name but a list of variables, by name or pattern (`PARTNER_*`): stored definitions read these alone through
        /// `env://…` and `${…}`. Unset: every variable of the process.
        pub secrets: Secrets = Secrets::default(),
    }
}

impl Config {
    /// Whether the stricter rules of production hold.
    #[must_use]
    pub fn is_production(&self) -> bool {
        self.environment.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("prod"))
    }

    /// Returns the address that the main listener binds.
    #[must_use]
    pub fn listen_host(&self) -> &str {
        match &self.server.host {
            Some(host) => host,
            None if self.admin_auth.enabled => "0.0.0.0",
            None => "127.0.0.1",
        }
    }

    /// Whether errors tell internal detail.
    #[must_use]
    pub fn verbose_errors(&self) -> bool {
        self.server.verbose_errors.unwrap_or(!self.is_production())
    }
}
