//! The inputs of a start other than the configuration.

use std::fmt;
use std::sync::Arc;

use actix_supervision::PlannedFault;
use prometheus_client::registry::Registry;
use slog::{Discard, Logger, o};
use svc_engine::Function;

use crate::config::{ConfigSource, SettingOrigins};
use crate::listeners::passed_sockets::PassedSockets;
use crate::logging::{DroppedMessages, LogLevelHandle, LogTap};

/// The inputs of a start other than the configuration.
///
/// ```
/// use svc::prometheus_client::metrics::counter::Counter;
/// use svc::prometheus_client::registry::Registry;
/// use svc::{Options, config};
///
/// let mut metrics = Registry::with_prefix("shop");
/// let orders: Counter = Counter::default();
/// metrics.register("orders", "orders of the shop", orders.clone());
/// let options = Options { environment: config::process_environment(), metrics, ..Options::default() };
/// ```
pub struct Options {
    /// The root logger; discards messages by default. [`logging::to_tracing`](crate::logging::to_tracing) hands
    /// them to the subscriber of an application that logs with `tracing`.
    pub log: Logger,
    /// The environment that `env://` references read, and that names the secret store of `vault://`
    /// references and the directory of the credentials of `file://`;
    /// [`process_environment`](crate::config::process_environment) is that of the process.
    pub environment: Vec<(String, String)>,
    /// The place of the configuration, to read it again on `SIGHUP` and `POST /engine/reload`; without one only the
    /// definitions are loaded again.
    pub config_source: Option<ConfigSource>,
    /// The places that gave the settings, for `GET /api/v1/admin/config`. Without them a setting that differs from its
    /// default is one of the program.
    pub setting_origins: SettingOrigins,
    /// The level of the root logger, which `logging.level` changes at such a reload.
    pub log_level: Option<LogLevelHandle>,
    /// The messages that the root logger dropped, which `/metrics` counts.
    pub dropped_messages: Option<DroppedMessages>,
    /// The place at which `telemetry.logs` reads the root logger; without one the log is the application's to export.
    pub log_tap: Option<LogTap>,
    /// Stores the trace of every run before its answer, with the steps of its tasks and its input, whatever its channel
    /// says. For development: it costs a write for each run, and shows payloads.
    pub records_all_runs: bool,
    /// Functions of the embedding application, which workflows may name like those of the service. Their
    /// [entries](Function::entry) have the source [`Plugin`](svc_engine::catalogue::FunctionSource::Plugin).
    pub functions: Vec<Arc<dyn Function>>,
    /// Metrics of the embedding application, which `/metrics` and
    /// [`Service::render_metrics`](crate::Service::render_metrics) show before those of the service.
    pub metrics: Registry,
    /// The sockets to listen on instead of those that the configuration names; none by default.
    pub sockets: PassedSockets,
    /// Planned faults, for tests and drills.
    pub faults: Vec<PlannedFault>,
    /// Seed of every jitter in the supervision tree.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            log: Logger::root(Discard, o!()),
            environment: Vec::new(),
            config_source: None,
            setting_origins: SettingOrigins::default(),
            log_level: None,
            dropped_messages: None,
            log_tap: None,
            records_all_runs: false,
            functions: Vec::new(),
            metrics: Registry::default(),
            sockets: PassedSockets::default(),
            faults: Vec::new(),
            seed: 0,
        }
    }
}

/// Shows the names of the environment only: its values are secrets.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<&str> = self.functions.iter().map(|function| function.entry().name).collect();
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Options")
            .field("environment", &names)
            .field("config_source", &self.config_source)
            .field("functions", &functions)
            .field("sockets", &self.sockets)
            .field("faults", &self.faults)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_print_environment_names_without_values() {
        let environment = vec![("DATABASE_PASSWORD".to_owned(), "hunter2".to_owned())];
        let printed = format!("{:?}", Options { environment, ..Options::default() });
        assert!(printed.contains("DATABASE_PASSWORD") && !printed.contains("hunter2"), "{printed}");
    }
}
