//! The children of the root: what runs in the process, what may bring it down, what depends on what.
//!
//! ```text
//! root
//! ├ store      writer (essential), probe             every connection lives on the shared i/o runtime
//! ├ registry   one actor, essential, needs store     prepares and commits what serves
//! └ channels   {id}/{worker}, a budget per channel    on the HTTP workers' own threads; exhausted: quarantined
//! ```
//!
//! An essential child that exhausts its budget ends the tree, and with it the process: without the store or the registry
//! nothing could be promised. A channel never does; it is refused with the reason until it changes, the configuration is
//! reloaded, or an operator orders a restart.

use std::time::Duration;

use actix_supervision::{
    Backoff, ChildSpec, Exhausted, GroupSpec, NodeEnd, Placement, Policy, SpawnError, Tree,
};
use svc_registry::{ChannelPolicy, Parts, Registry};
use svc_store::{Opened, Store};

/// The database's actors.
pub(crate) const STORE: &str = "store";
/// The registry's actor.
pub(crate) const REGISTRY: &str = "registry";
/// The group of all channels.
pub(crate) const CHANNELS: &str = "channels";

/// How long a channel's actor may finish what it began when it is replaced or retired.
const DRAIN: Duration = Duration::from_secs(30);
/// Messages in flight in one channel on one thread.
const MAILBOX: usize = 8192;

/// One channel's failures, over all its threads: five restarts in half a minute, the first at once.
fn channel_policy() -> ChannelPolicy {
    let backoff = Backoff { first: Duration::from_millis(10), max: Duration::from_secs(5), jitter: 0.2 };
    let budget = Policy {
        max_restarts: 5,
        within: Duration::from_secs(30),
        backoff,
        exhausted: Exhausted::Quarantine,
    };
    ChannelPolicy { group: CHANNELS.to_owned(), budget, mailbox: MAILBOX, drain: DRAIN }
}

/// Starts every child and waits until the essential ones run.
///
/// # Errors
/// What did not start.
pub(crate) async fn plant(
    tree: &Tree,
    opened: Opened,
    io: &Placement,
    parts: impl FnOnce(Store, ChannelPolicy) -> Parts,
) -> Result<(Store, Registry), PlantError> {
    let store = Store::supervise(opened, tree, STORE, io.clone()).await?;
    tree.group(CHANNELS, GroupSpec::new()).await?;
    let spec = ChildSpec::new().essential().needs([STORE]);
    let registry =
        Registry::supervise(tree, REGISTRY, spec, io.clone(), parts(store.clone(), channel_policy())).await?;
    tree.running(REGISTRY).await?;
    Ok((store, registry))
}

/// A child that did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlantError {
    /// It could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It was placed and did not come to run.
    #[error("the registry does not run: {0}")]
    End(#[from] NodeEnd),
}
