//! Configuration: settings, their sources, and their validation.
//!
//! From a file and the environment it makes one checked [`Config`], or the list of all problems. Nothing outside this
//! module reads the environment; nothing here keeps state.

use std::net::IpAddr;

mod admin_key;
mod cluster;
mod declared;
mod edge;
mod execution;
mod file;
mod load;
mod network;
mod overrides;
mod packages;
mod problem;
mod production;
mod reload;
mod schema;
mod setting;
mod show;
mod storage;
mod telemetry;
mod tls;
mod unavailable;

pub use admin_key::{AdminKey, KeyDigest, key_id};
pub use cluster::{
    ClusterSection, KafkaAuthSection, KafkaDlqSection, KafkaSection, SaslMechanism, SecurityProtocol,
    TopicMapping,
};
pub use declared::{ClientProperties, SecretsSection, SignInProvidersSection, VarsSection};
pub use edge::{
    AdminAuthSection, ChannelFilterSection, CompressionSection, ConsoleSection, CorsSection, DataDocsSection,
    DocsSection, IngestSection, RateLimitEndpointsSection, RateLimitSection, ServerSection,
};
pub use execution::{
    BulkSection, CircuitBreakerSection, CronSection, EngineSection, JwtSection, OAuth2LoginSection,
    QuerySection, WebhooksSection, WriteSection,
};
pub use load::{LoadedConfig, SettingOrigin, SettingOrigins, load, parse, process_environment};
pub use network::{Network, NetworkError};
pub use packages::{PackageTrustSection, PackagesSection, PluginTrustSection, PluginsSection};
pub use problem::{ConfigError, ConfigProblem};
pub use reload::ConfigSource;
pub(crate) use reload::SettingsChange;
pub use schema::config_schema;
pub(crate) use show::describe_settings;
pub use show::{ConfigFormat, render};
pub use storage::{
    AuditSection, BackupsSection, RecordSection, StorageSection, TraceOverflow, TraceQueueSection,
    TraceStorageMode, TraceStorageSection,
};
pub(crate) use telemetry::host_and_port;
pub use telemetry::{
    LogFormat, LogLevel, LogTarget, LoggingSection, MetricsSection, OtlpProtocol, TelemetrySection,
    TracingSection,
};
pub use tls::{TlsSection, TlsVersion};
pub(crate) use unavailable::check_features;

use setting::section;

#[cfg(test)]
mod tests;

section! {
    /// The whole configuration; `Config::default()` is that of an empty file.
    pub struct Config {
        /// Name of the environment. One that starts with `prod` is production, which has stricter rules.
        pub environment: String = "development".into(),
        /// The main listener.
        pub server: ServerSection = ServerSection::default(),
        /// The database.
        pub storage: StorageSection = StorageSection::default(),
        /// Backups by a schedule.
        pub backups: BackupsSection = BackupsSection::default(),
        /// Limits of the data plane.
        pub ingest: IngestSection = IngestSection::default(),
        /// The log.
        pub logging: LoggingSection = LoggingSection::default(),
        /// Metrics.
        pub metrics: MetricsSection = MetricsSection::default(),
        /// Export of spans.
        pub tracing: TracingSection = TracingSection::default(),
        /// Export of metrics and of the log.
        pub telemetry: TelemetrySection = TelemetrySection::default(),
        /// Storage of traces.
        pub trace_storage: TraceStorageSection = TraceStorageSection::default(),
        /// Requests taken for later.
        pub trace_queue: TraceQueueSection = TraceQueueSection::default(),
        /// The record of admin changes.
        pub audit: AuditSection = AuditSection::default(),
        /// The engine.
        pub engine: EngineSection = EngineSection::default(),
        /// Reads of the `data_query` function.
        pub query: QuerySection = QuerySection::default(),
        /// Writes of the `data_write` function.
        pub write: WriteSection = WriteSection::default(),
        /// Key sets.
        pub jwt: JwtSection = JwtSection::default(),
        /// Identity providers.
        pub oauth2_login: OAuth2LoginSection = OAuth2LoginSection::default(),
        /// Channels that run by the clock.
        pub cron: CronSection = CronSection::default(),
        /// Actions of operators on many rows.
        pub bulk: BulkSection = BulkSection::default(),
        /// Events for the addresses of customers.
        pub webhooks: WebhooksSection = WebhooksSection::default(),
        /// Channels fed by Kafka.
        pub kafka: KafkaSection = KafkaSection::default(),
        /// Several nodes.
        pub cluster: ClusterSection = ClusterSection::default(),
        /// Limits per client.
        pub rate_limit: RateLimitSection = RateLimitSection::default(),
        /// Access to the admin API.
        pub admin_auth: AdminAuthSection = AdminAuthSection::default(),
        /// Browsers of other origins.
        pub cors: CorsSection = CorsSection::default(),
        /// Packages that the node applies itself.
        pub packages: PackagesSection = PackagesSection::default(),
        /// Task functions in WebAssembly.
        pub plugins: PluginsSection = PluginsSection::default(),
        /// The channels that this node serves.
        pub channel_filter: ChannelFilterSection = ChannelFilterSection::default(),
        /// Plain values for workflows (`metadata.vars`): strings, numbers, booleans, arrays, tables. They show in traces.
        /// A string, number or boolean is also the value of `var://name` in stored connectors and channels.
        pub vars: VarsSection = VarsSection::default(),
        /// Names that workflows use for secrets, each with its reference (`env://…`, `file://…`, `vault://…`).
        /// `allowed_env` is no such name but a list of variables, by name or pattern (`PARTNER_*`): stored definitions read
        /// these alone through `env://…` and `${…}`. Unset: every variable of the process. `allowed_files` is one of files
        /// (`/etc/partners/*`), for `file://…`. Unset: every file, or none if `allowed_env` is set.
        pub secrets: SecretsSection = SecretsSection::default(),
    }
}

impl Config {
    /// Returns `true` if the stricter rules of production apply.
    #[must_use]
    pub fn is_production(&self) -> bool {
        self.environment.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("prod"))
    }

    /// Returns the address that the main listener binds, of IPv6 without brackets.
    #[must_use]
    pub fn listen_host(&self) -> &str {
        match &self.server.host {
            Some(host) => host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host),
            None if self.admin_auth.enabled => "0.0.0.0",
            None => "127.0.0.1",
        }
    }

    /// Returns the address and the port of the main listener as a URL has them.
    pub(crate) fn listen_address(&self) -> String {
        let (host, port) = (self.listen_host(), self.server.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns `true` if the documentation of the API is served.
    #[must_use]
    pub fn serves_docs(&self) -> bool {
        self.server.docs.enabled.unwrap_or(!self.is_production())
    }

    /// Returns `true` if the console is served: its page, its live data, and the figures that this node stores for it.
    #[must_use]
    pub fn console_is_on(&self) -> bool {
        let is_guarded = || self.admin_auth.enabled || self.listens_on_loopback();
        self.server.console.enabled.unwrap_or_else(|| !self.is_production() && is_guarded())
    }

    /// Returns the path of the page of the console; `None` if it is off, or this build was compiled without it.
    #[must_use]
    pub fn console_page_path(&self) -> Option<&str> {
        let is_served = cfg!(feature = "console") && self.console_is_on();
        is_served.then_some(self.server.console.path.as_str())
    }

    /// Returns `true` if only programs on this machine reach the main listener.
    pub(crate) fn listens_on_loopback(&self) -> bool {
        let host = self.listen_host();
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }

    /// Returns `true` if errors show internal detail.
    #[must_use]
    pub fn verbose_errors(&self) -> bool {
        self.server.verbose_errors.unwrap_or(!self.is_production())
    }
}
