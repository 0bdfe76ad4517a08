//! OAuth2 tokens for outbound calls.

use std::sync::Arc;

use svc_store::Store;
use svc_tokens::{Settings, Tokens};

use crate::assembly::context::Assembly;
use crate::assembly::parts::store::STORE;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::error::ServiceStartError;

/// The OAuth2 tokens of connectors; one fetch at a time for each connector.
pub(crate) static TOKENS: TreeRow =
    TreeRow::actor("tokens", RunsOn::SharedThread).needs(&["store"]).drain_secs(20);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&TOKENS], tasks: &[] };

/// Starts the fetcher of tokens. Nothing is fetched yet.
///
/// # Errors
/// [`ServiceStartError::Tree`] without an HTTP client, or for an actor that cannot be placed.
pub(crate) async fn start(assembly: &Assembly, store: &Store) -> Result<Tokens, ServiceStartError> {
    let errors = assembly.metrics.channels.clone();
    let settings = Settings {
        store: store.clone(),
        needs: STORE.absolute_path(),
        outbound: assembly.outbound.clone(),
        holder: assembly.node_id.clone(),
        errors: Arc::new(move |reason| errors.count_error(reason)),
    };
    let (tree, thread) = (&assembly.tree, assembly.thread_of(&TOKENS)?);
    let (metrics, log) = (assembly.metrics.tokens.clone(), assembly.log.clone());
    Tokens::supervise(tree, TOKENS.path, thread, settings, metrics, log)
        .await
        .map_err(|error| ServiceStartError::Tree(format!("tokens cannot be obtained: {error}")))
}
