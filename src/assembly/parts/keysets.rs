//! The keys of token issuers.

use std::sync::Arc;

use svc_auth::KeySets;
use svc_keysets::{KeySetCache, Settings};

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::error::ServiceStartError;

/// The key sets of token issuers; one fetch at a time for each issuer.
pub(crate) static KEY_SETS: TreeRow = TreeRow::actor("keysets", RunsOn::SharedThread);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&KEY_SETS], tasks: &[] };

/// Starts the fetcher of key sets. Nothing is fetched yet.
///
/// # Errors
/// [`ServiceStartError::Tree`] without an HTTP client, or for an actor that cannot be placed.
pub(crate) async fn start(assembly: &Assembly) -> Result<Arc<dyn KeySets>, ServiceStartError> {
    let settings = Settings {
        outbound: assembly.outbound.clone(),
        allow_private: assembly.config.jwt.allow_private_jwks_urls,
    };
    let (thread, log) = (assembly.thread_of(&KEY_SETS)?, assembly.log.clone());
    let started = KeySetCache::supervise(&assembly.tree, KEY_SETS.path, thread, settings, log).await;
    match started {
        Ok(key_sets) => Ok(Arc::new(key_sets)),
        Err(error) => Err(ServiceStartError::Tree(format!("key sets cannot be fetched: {error}"))),
    }
}
