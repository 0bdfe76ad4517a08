//! Credentials that are fetched: the keys of token issuers, and OAuth2 tokens for outbound calls; and the way to the
//! providers at which people sign in.

use std::sync::Arc;

use svc_auth::{KeySets, ProviderAccess};
use svc_credentials::keysets::{self, KeySetCache};
use svc_credentials::sign_in::{self, SignInNetwork};
use svc_credentials::tokens::{self, Tokens};
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::parts::store::STORE;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::error::ServiceStartError;

/// The key sets of token issuers; one fetch at a time for each issuer.
pub(crate) static KEY_SETS: TreeRow = TreeRow::actor("keysets", RunsOn::SharedThread);
/// The requests to the providers at which people sign in.
pub(crate) static SIGN_IN: TreeRow = TreeRow::actor("sign-in", RunsOn::SharedThread);
/// The OAuth2 tokens of connectors; one fetch at a time for each connector.
pub(crate) static TOKENS: TreeRow =
    TreeRow::actor("tokens", RunsOn::SharedThread).needs(&["store"]).drain_secs(20);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&KEY_SETS, &SIGN_IN, &TOKENS], tasks: &[] };

/// The ways to those who vouch for callers.
#[derive(Clone)]
pub(crate) struct Issuers {
    /// The keys of token issuers.
    pub(crate) key_sets: Arc<dyn KeySets>,
    /// The providers at which people sign in.
    pub(crate) identity_providers: Arc<dyn ProviderAccess>,
}

/// Starts the ways to those who vouch for callers. Nothing is fetched yet.
///
/// # Errors
/// [`ServiceStartError::Tree`] without an HTTP client, or for an actor that cannot be placed.
pub(crate) async fn start_issuers(assembly: &Assembly) -> Result<Issuers, ServiceStartError> {
    let key_sets = start_key_sets(assembly).await?;
    let settings = sign_in::Settings {
        outbound: assembly.outbound.clone(),
        allow_private: assembly.config.oauth2_login.allow_private_token_urls,
    };
    let (thread, log) = (assembly.thread_of(&SIGN_IN)?, assembly.log.clone());
    let started = SignInNetwork::supervise(&assembly.tree, SIGN_IN.path, thread, settings, log).await;
    match started {
        Ok(network) => Ok(Issuers { key_sets, identity_providers: Arc::new(network) }),
        Err(error) => Err(ServiceStartError::Tree(format!("identity providers cannot be asked: {error}"))),
    }
}

async fn start_key_sets(assembly: &Assembly) -> Result<Arc<dyn KeySets>, ServiceStartError> {
    let settings = keysets::Settings {
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

/// Starts the fetcher of tokens. Nothing is fetched yet.
///
/// # Errors
/// [`ServiceStartError::Tree`] without an HTTP client, or for an actor that cannot be placed.
pub(crate) async fn start_tokens(assembly: &Assembly, store: &Store) -> Result<Tokens, ServiceStartError> {
    let errors = assembly.metrics.channels.clone();
    let settings = tokens::Settings {
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
