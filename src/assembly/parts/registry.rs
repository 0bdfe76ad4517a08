//! The registry of serving definitions.

use std::time::Duration;

use actix_supervision::{Backoff, ExhaustedAction, GroupSpec, RestartPolicy};
use svc_channels::ChannelServices;
use svc_channels::call::DirectoryHandle;
use svc_registry::{ChannelFilter, ChannelPolicy, Registry, RegistryParts};
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::parts::channels::{CHANNEL_ACTOR, CHANNELS};
use crate::assembly::parts::cron::SCHEDULES;
use crate::assembly::row::{DrainBudget, RunsOn, ServicePart, TreeRow};
use crate::config::ChannelFilterSection;
use crate::error::ServiceStartError;

/// The registry, which prepares and commits snapshots.
pub(crate) static REGISTRY: TreeRow = TreeRow::actor("registry", RunsOn::SharedThread).essential().needs(&[
    "store",
    "connectors",
    "tokens",
    "keysets",
    "traces/recorder",
]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&REGISTRY], tasks: &[] };

/// Starts the registry and waits until it runs: the stored configuration serves from then on. Calls between channels
/// find their channels through `calls` then.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed, or a registry that fails to start.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    services: ChannelServices,
    calls: DirectoryHandle,
) -> Result<Registry, ServiceStartError> {
    let (tree, config) = (&assembly.tree, &assembly.config);
    tree.add_group(CHANNELS.path, GroupSpec::new()).await.map_err(ServiceStartError::tree)?;
    let parts = RegistryParts {
        store: store.clone(),
        services,
        calls,
        filter: channel_filter(&config.channel_filter),
        channels: channel_policy(config.cron.enabled),
        metrics: assembly.metrics.reloads.clone(),
        log: assembly.log.clone(),
    };
    let thread = assembly.thread_of(&REGISTRY)?;
    let started = Registry::supervise(tree, REGISTRY.path, REGISTRY.spec(), thread, parts).await;
    let registry = started.map_err(ServiceStartError::tree)?;
    match tree.wait_until_running(REGISTRY.path).await {
        Ok(_) => Ok(registry),
        Err(error) => Err(ServiceStartError::Tree(format!("the registry does not run: {error}"))),
    }
}

/// Messages in flight in one channel on one thread.
const MAILBOX: usize = 8192;

/// Returns the policy of channels: five restarts in half a minute over all threads of a channel, the first at
/// once.
fn channel_policy(has_schedules: bool) -> ChannelPolicy {
    let backoff = Backoff { first: Duration::from_millis(10), max: Duration::from_secs(5), jitter: 0.2 };
    let budget = RestartPolicy {
        max_restarts: 5,
        within: Duration::from_secs(30),
        backoff,
        exhausted: ExhaustedAction::Quarantine,
    };
    let drain = match CHANNEL_ACTOR.drain {
        DrainBudget::Fixed(limit) => limit,
        _ => Duration::ZERO,
    };
    ChannelPolicy {
        group: CHANNELS.path.to_owned(),
        budget,
        mailbox: MAILBOX,
        drain,
        schedules: has_schedules.then(|| SCHEDULES.path.to_owned()),
        needs: CHANNEL_ACTOR.need_paths(),
    }
}

fn channel_filter(config: &ChannelFilterSection) -> ChannelFilter {
    ChannelFilter { include: config.include.clone(), exclude: config.exclude.clone() }
}
