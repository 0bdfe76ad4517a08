//! The shared state of all handlers.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use actix_supervision::Tree;
use parking_lot::Mutex;
use slog::{Logger, error, info, warn};
use svc_channels::{CacheNamespaces, CallQuotas, ComputeGate, LogRateLimit};
use svc_cluster::epoch::LocalChange;
use svc_cluster::nodes::NodeHandle;
use svc_connectors::{BrokerHealth, Connectors};
use svc_console::ConsoleHandle;
use svc_cron::{CronHandle, CronMetrics};
use svc_engine::Engine;
use svc_model::{AuditAction, AuditResource, FieldError, ServiceError, id};
use svc_redis::RedisClient;
use svc_registry::{Registry, ReloadError, ReloadReport, ReloadScope};
use svc_secrets::Keyring;
use svc_spans::Spans;
use svc_store::{AuditEntry, DatabaseStatus, FileLock, Mutation, Store};
use svc_traces::Traces;
use svc_transport::ConnectionMetrics;
use svc_webhooks::WebhookHandle;
use tokio::time::Instant;

use crate::assembly::consumers::ConsumerLoader;
use crate::assembly::live_settings::LiveSettings;
use crate::assembly::parts::kafka::KafkaIngress;
use crate::assembly::plugins::PluginLoader;
use crate::assembly::propagation::{DefinitionLoader, Propagation};
use crate::backups::BackupDirectory;
use crate::boot_packages::BootPackages;
use crate::commands::DevStatus;
use crate::config::{Config, SettingsChange};
use crate::driver_handle::DriverHandle;
use crate::http::{
    AccessSample, AdminAuthenticator, AuthFailureReason, ChannelDocuments, CorsPolicy, GuessPacer,
    InFlightBytes, Metrics, Planes, RateLimits, RefusalPacer, RequestId, TrustedProxies,
};
use crate::lifecycle::Lifecycle;
use crate::listeners::certificates::Certificates;
use crate::package_trust::PackageTrust;
use crate::process::descriptors::DescriptorWatch;
use crate::process::io_runtime::IoRuntime;
use crate::process::logging::DroppedMessages;
use crate::process::worker_threads::WorkerThreads;
use crate::rollouts::CanaryMetrics;
use crate::telemetry::TelemetryExport;

/// The state of a service, shared by all worker threads.
pub struct AppState {
    /// The effective configuration.
    pub config: Arc<Config>,
    /// The database.
    pub store: Store,
    /// The definitions that serve.
    pub serving: ServingDefinitions,
    /// The work of this node other than requests.
    pub work: NodeWork,
    /// The rules of the edge.
    pub edge: EdgeState,
    /// The process around the service.
    pub process: ProcessState,
    /// The supervision tree.
    pub tree: Tree,
    /// The metrics.
    pub metrics: Metrics,
    /// The root logger.
    pub log: Logger,
}

/// The definitions that serve, and what they are compiled and run with.
pub struct ServingDefinitions {
    /// The registry of serving definitions.
    pub registry: Registry,
    /// The engine, which compiles and runs workflows.
    pub engine: Arc<Engine>,
    /// The connectors to outbound systems.
    pub connectors: Connectors,
    /// The reader of secret references.
    pub secrets: Keyring,
    /// The configuration epoch: what other processes change is loaded here.
    pub propagation: Propagation,
    pub(crate) compute_gate: ComputeGate,
    /// The namespaces of cached answers.
    pub(crate) namespaces: CacheNamespaces,
    /// The quotas of channels.
    pub(crate) quotas: CallQuotas,
    /// The consumers whom channels may accept.
    pub(crate) consumers: ConsumerLoader,
    /// The plugins whose functions workflows may call.
    pub(crate) plugins: PluginLoader,
}

/// The work of this node other than requests: accepted work, schedules, records of Kafka.
pub struct NodeWork {
    /// The lease of this process.
    pub nodes: NodeHandle,
    /// Traces and accepted work.
    pub traces: Traces,
    /// The schedules; `None` on a node that runs none.
    pub cron: Option<CronHandle>,
    /// The metrics of schedules, on every node: an operator's order is counted by the node that gets it.
    pub(crate) cron_metrics: CronMetrics,
    /// The rollouts that move by themselves, as this node last saw them.
    pub(crate) rollouts: CanaryMetrics,
    /// Health of the Kafka brokers of the settings; `None` if Kafka is off.
    pub brokers: Option<BrokerHealth>,
    /// The driver of actions on many rows.
    pub(crate) bulk: DriverHandle,
    /// The driver of backtests.
    pub(crate) backtests: DriverHandle,
    /// The webhooks to customers.
    pub(crate) webhooks: WebhookHandle,
    /// The live data of the console; `None` if the console is off.
    pub(crate) console: Option<ConsoleHandle>,
    /// The consumers of Kafka topics; `None` if Kafka is off.
    pub(crate) kafka: Option<KafkaIngress>,
    /// The Redis server that the nodes of a cluster share; `None` outside cluster mode.
    pub cluster_redis: Option<RedisClient>,
}

/// The rules that the edge applies to requests, with their state.
pub struct EdgeState {
    /// The authenticator of admin requests.
    pub auth: AdminAuthenticator,
    /// The proxies whose forwarded headers are trusted.
    pub proxies: TrustedProxies,
    /// The spans of requests, which begin here.
    pub spans: Spans,
    pub(crate) cors: CorsPolicy,
    pub(crate) rate_limits: RateLimits,
    pub(crate) guesses: GuessPacer,
    pub(crate) pacer: RefusalPacer,
    pub(crate) in_flight: InFlightBytes,
    pub(crate) planes: Planes,
    /// The channels in the documents for callers.
    pub(crate) documents: ChannelDocuments,
    /// The share of requests that leave a line in the log.
    pub(crate) access_sample: AccessSample,
    /// The bound on log lines about failed requests.
    pub(crate) failure_lines: LogRateLimit,
}

/// The process around the service: its name, its phase, its threads and its files.
pub struct ProcessState {
    /// The name of this process, configured or generated at the start.
    pub instance_id: String,
    /// The time of the start.
    pub started_at: Instant,
    /// The phase of the service between start and end.
    pub lifecycle: Lifecycle,
    pub(crate) settings: LiveSettings,
    pub(crate) workers: WorkerThreads,
    pub(crate) connections: ConnectionMetrics,
    pub(crate) descriptors: Arc<DescriptorWatch>,
    /// The certificate of the listeners; `None` if TLS is off.
    pub(crate) certificates: Option<Arc<Certificates>>,
    /// The messages that the root logger dropped; `None` if the logger is that of an embedding application.
    pub(crate) dropped_messages: Option<DroppedMessages>,
    /// The export of metrics and of the log; `None` if neither is exported.
    pub(crate) telemetry: Option<TelemetryExport>,
    /// The trust in packages.
    pub(crate) trust: PackageTrust,
    /// The packages that the node applies at its start.
    pub(crate) packages: BootPackages,
    /// The directory of backups.
    pub(crate) backups: Arc<BackupDirectory>,
    /// Owned here, so that the actor threads live as long as anything is mounted.
    pub(crate) io: IoRuntime,
    /// The exclusive use of a SQLite file, released once nothing writes to it any more.
    pub(crate) file_lock: Mutex<Option<FileLock>>,
    /// The project that this process serves while its author works; unset in any other process.
    pub(crate) dev: OnceLock<Arc<DevStatus>>,
}

impl AppState {
    /// Reloads the stored definitions; a reload of everything includes the connectors.
    ///
    /// # Errors
    /// The reason; the previous snapshot goes on serving.
    pub async fn reload(&self, scope: ReloadScope) -> Result<ReloadReport, ReloadError> {
        let ServingDefinitions { connectors, consumers, plugins, registry, .. } = &self.serving;
        let loader = DefinitionLoader {
            connectors: connectors.clone(),
            consumers: consumers.clone(),
            plugins: plugins.clone(),
            registry: registry.clone(),
        };
        loader.load(scope).await
    }

    /// Registers a change that is about to be committed. It ends with the load of what was changed.
    pub(crate) fn begin_change(&self, mutation: &Mutation) -> LocalChange {
        self.serving.propagation.local.begin(mutation.change_id)
    }

    /// Reads the settings again, loads the stored configuration on an operator's order, notifies the other processes,
    /// and records the order with its outcome.
    ///
    /// # Errors
    /// The settings are wrong, and nothing has changed; or the configuration could not be loaded, and the previous one
    /// serves on; or the other processes could not be notified.
    pub(crate) async fn reload_by_order(
        &self,
        mut order: AuditEntry,
    ) -> Result<(ReloadReport, SettingsChange), ServiceError> {
        let change = match self.reload_settings().await {
            Ok(change) => change,
            Err(error) => {
                self.record_failed_order(order, error.to_string()).await;
                let problems = error.problems.into_iter();
                let problems = problems.map(|problem| FieldError::invalid(problem.subject, problem.text));
                return Err(ServiceError::invalid(problems.collect()));
            }
        };
        if change != SettingsChange::default() {
            let details = order.details.get_or_insert_with(|| serde_json::json!({}));
            details["settings_taken"] = change.taken.clone().into();
            details["settings_need_restart"] = change.needs_restart.clone().into();
        }
        match self.reload(ReloadScope::All).await {
            Ok(report) => {
                let change_id = id::new_ordered_id();
                let local = self.serving.propagation.local.begin(change_id);
                self.store.epoch().bump(order.clone(), change_id).await?;
                self.metrics.record_audit_event(AuditAction::Reload, AuditResource::Engine);
                local.record_applied();
                Ok((report, change))
            }
            Err(failure) => {
                self.record_failed_order(order, failure.to_string()).await;
                Err(failure.into())
            }
        }
    }

    /// Records an order to reload that failed.
    async fn record_failed_order(&self, mut order: AuditEntry, reason: String) {
        let details = order.details.get_or_insert_with(|| serde_json::json!({}));
        details["outcome"] = "failed".into();
        details["reason"] = reason.into();
        match self.store.audit().record(order.clone()).await {
            Ok(()) => self.metrics.record_audit_event(AuditAction::Reload, AuditResource::Engine),
            Err(error) => error!(self.log, "a failed reload was not recorded"; "error" => %error),
        }
    }

    /// Reloads after a committed change. The change stays whether or not the reload succeeds: a failed reload keeps the
    /// previous snapshot in service, and `/health` reports it.
    pub(crate) async fn reload_after_change(&self, scope: ReloadScope, change: LocalChange) {
        match self.reload(scope).await {
            Ok(_) => change.record_applied(),
            Err(error) => warn!(self.log, "reload after a committed change failed"; "error" => %error),
        }
    }

    /// Loads the consumers after a committed change, which stays whether or not this succeeds: the watcher of the epoch
    /// loads it then.
    pub(crate) async fn load_consumers_after_change(&self, change: LocalChange) {
        match self.serving.consumers.load().await {
            Ok(()) => change.record_applied(),
            Err(error) => warn!(self.log, "load of the consumers after a committed change failed";
                "error" => %error),
        }
    }

    /// Returns the troubles of Kafka, the brokers' first; `None` if Kafka is off. Updates the gauge that shows them.
    pub(crate) fn kafka_troubles(&self) -> Option<Vec<String>> {
        let brokers = self.work.brokers.as_ref()?.problem();
        let mut troubles: Vec<String> = brokers.into_iter().collect();
        if let Some(kafka) = &self.work.kafka {
            troubles.extend(kafka.troubles());
            kafka.show_degraded(!troubles.is_empty());
        }
        Some(troubles)
    }

    /// Returns `true` if a balancer may send requests to this node.
    pub(crate) fn is_ready(&self, redis: Option<bool>) -> bool {
        self.store.status() == DatabaseStatus::Ok
            && self.is_initialized()
            && redis.unwrap_or(true)
            && self.process.packages.are_served()
            && self.serving.plugins.is_ready()
    }

    /// Releases the SQLite file for other processes.
    pub(crate) fn unlock_file(&self) {
        drop(self.process.file_lock.lock().take());
    }

    /// Counts and logs a refused credential.
    pub(crate) fn record_auth_refusal(&self, reason: AuthFailureReason, client_ip: IpAddr, id: &RequestId) {
        self.metrics.record_auth_failure(reason.name());
        info!(self.log, "admin credential refused";
            "reason" => reason.name(), "client_ip" => %client_ip, "request_id" => id.as_str());
    }

    /// Returns `true` once the start has ended and a thread serves, until shutdown starts.
    pub(crate) fn is_initialized(&self) -> bool {
        self.process.lifecycle.is_ready() && self.process.workers.has_any(&self.serving.registry)
    }

    /// Returns `true` if `/metrics` is part of the mounted routes; otherwise it has a listener of its own.
    pub(crate) fn mounts_metrics(&self) -> bool {
        self.config.metrics.enabled && self.config.metrics.bind_addr.is_none()
    }
}

impl fmt::Debug for AppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppState").finish_non_exhaustive()
    }
}
