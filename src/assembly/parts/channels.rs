//! The channels: one actor each on every worker thread.

use std::sync::Arc;
use std::time::Duration;

use svc_channels::{
    CacheNamespaces, CallQuotas, ChannelServices, ClusterStore, ComputeGate, ConsumerDirectory, LocalCaches,
    RateGroups, ReplayServices, Settings, ShapeLimits,
};
use svc_connectors::Connectors;
use svc_engine::Engine;
use svc_model::config::InstanceProviders;
use svc_store::Store;
use svc_traces::Traces;

use crate::assembly::cluster_store::RedisClusterStore;
use crate::assembly::context::Assembly;
use crate::assembly::parts::credentials::Issuers;
use crate::assembly::row::{EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::assembly::settings::vars;
use crate::assembly::stored_answers::StoredAnswers;
use crate::assembly::stored_quotas::StoredQuotas;
use crate::config::Config;
use crate::rollouts::{compare_with_shadow, shadow_kinds};

/// The group of all channels.
pub(crate) static CHANNELS: TreeRow = TreeRow::group("channels").ended_by(EndedBy::ChannelRetirement);
/// The group of one channel, which has the restart budget.
static CHANNEL: TreeRow = TreeRow::group("channels/{id}").ended_by(EndedBy::ChannelRetirement);
/// The actor of a channel on one worker thread.
pub(crate) static CHANNEL_ACTOR: TreeRow = TreeRow::actor("channels/{id}/{worker}", RunsOn::HttpWorkers)
    .needs(&["store", "connectors", "tokens", "keysets", "traces/recorder"])
    .drain_secs(30)
    .ended_by(EndedBy::ChannelRetirement);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[&CHANNELS, &CHANNEL, &CHANNEL_ACTOR],
    tasks: &[
        task("parse of a large body", "actors/channels", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task("compilation of a plugin", "src", 1, RunsOn::BlockingPool, EndedBy::ProcessExit),
        task("ticks for running plugins", "crates/plugins", 1, RunsOn::OwnThread, EndedBy::OwnerDrop),
        task(
            "removal of expired idempotency keys and cached responses",
            "actors/channels",
            1,
            RunsOn::BlockingPool,
            EndedBy::Caller,
        ),
        task(
            "release of an unanswered claim",
            "actors/channels",
            1,
            RunsOn::HttpWorkers,
            EndedBy::ProcessExit,
        ),
        task(
            "late write to the store of kept answers",
            "actors/channels",
            1,
            RunsOn::HttpWorkers,
            EndedBy::ProcessExit,
        ),
        task("shadow of a run", "actors/channels", 1, RunsOn::HttpWorkers, EndedBy::ProcessExit),
    ],
};

/// Makes the services that all channels share. The registry starts the channels with them.
pub(crate) fn make_services(
    assembly: &Assembly,
    engine: Arc<Engine>,
    Issuers { key_sets, identity_providers }: Issuers,
    connectors: &Connectors,
    namespaces: CacheNamespaces,
    traces: &Traces,
    store: &Store,
) -> ChannelServices {
    let cluster = assembly.cluster_redis.clone();
    assembly.metrics.channels.declare_shadow_kinds(shadow_kinds());
    ChannelServices {
        engine,
        settings: Arc::new(settings(&assembly.config)),
        metrics: assembly.metrics.channels.clone(),
        secrets: assembly.secrets.clone(),
        key_sets,
        identity_providers,
        connectors: Some(Arc::new(connectors.clone())),
        cluster: cluster.map(|redis| Arc::new(RedisClusterStore(redis)) as Arc<dyn ClusterStore>),
        replay: ReplayServices {
            database: Some(Arc::new(StoredAnswers(store.kept_answers()))),
            keys: store.encryption_keys(),
        },
        quotas: CallQuotas::new(Arc::new(StoredQuotas(store.quota_counts()))),
        consumers: ConsumerDirectory::default(),
        traces: Some(traces.clone()),
        compute_gate: ComputeGate::default(),
        rate_groups: RateGroups::default(),
        local_caches: LocalCaches::default(),
        namespaces,
        memory_entries: memory_entries(&assembly.config),
        spans: assembly.spans.clone(),
        log: assembly.log.clone(),
    }
}

/// Returns the settings that all channels share.
fn settings(config: &Config) -> Settings {
    let sticky = config.engine.rollout_sticky_header.to_ascii_lowercase();
    Settings {
        vars: vars(config),
        verbose_errors: config.verbose_errors(),
        max_result_bytes: max_result_bytes(config),
        rollout_sticky_header: Some(sticky).filter(|name| !name.is_empty()),
        profiles: config.tracing.debug_profile_enabled,
        cron_enabled: config.cron.enabled,
        client_networks: config.rate_limit.client_networks(),
        shape_limits: ShapeLimits {
            object_members: config.ingest.max_object_members,
            array_elements: config.ingest.max_array_elements,
        },
        max_delay: Duration::from_secs(u64::from(config.trace_queue.max_delay_days) * 86_400),
        sign_in_providers: InstanceProviders::new(config.oauth2_login.providers.0.clone()),
        shadow_max_concurrency: config.engine.shadow_max_concurrency,
        shadow_compare: Some(compare_with_shadow),
    }
}

/// Returns the bound on in-memory entries of a channel; 0 in the configuration means none.
fn memory_entries(config: &Config) -> u64 {
    match config.engine.max_memory_cache_entries {
        0 => u64::MAX,
        entries => u64::try_from(entries).unwrap_or(u64::MAX),
    }
}

/// Returns the bound on the stored result of a run, in bytes; 0 in the configuration means none.
pub(crate) fn max_result_bytes(config: &Config) -> Option<usize> {
    Some(config.trace_queue.max_result_size_bytes).filter(|limit| *limit > 0)
}
