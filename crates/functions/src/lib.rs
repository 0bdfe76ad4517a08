//! Task functions that need no connector, `cache_invalidate`, `crypto`, `jwt_sign` and `jwt_verify`, and the
//! [`declarations`] of those that do.
//!
//! [`register`] adds them to an engine under those names. The catalogue entry of each function declares its
//! input once; the documentation, the validation of stored definitions and the checks on each message follow
//! from it.
//!
//! A secret field accepts a literal, a reference (`env://`, `file://`, `vault://`) or `{"secret": name}`. Secrets are
//! read when a workflow is loaded, and are kept only in the form that the task uses (a keyed state, a parsed
//! key), never as text in a message. A reference without a value does not keep the workflow from being
//! served: the task fails and names the field. An unusable key or an undeclared name keeps the workflow from
//! being loaded. No value appears in an error, a trace or a log.
//!
//! Password hashes are computed on blocking threads, a few at a time. Nothing else blocks. Only the
//! verification of a token waits for the network, through [`KeySets`], if the keys of its issuer are not
//! cached.

mod blocking;
mod cache_invalidate;
mod crypto;
pub mod declarations;
mod encoding;
mod input;
mod jwt;
mod secret;

use std::sync::Arc;

use svc_auth::KeySets;
use svc_engine::EngineBuilder;

pub use cache_invalidate::{CacheInvalidation, MAX_NAMESPACES, NoCaches, read_namespaces};

/// Registers the functions with an engine.
#[must_use]
pub fn register(
    builder: EngineBuilder,
    key_sets: Arc<dyn KeySets>,
    caches: Arc<dyn CacheInvalidation>,
) -> EngineBuilder {
    builder
        .function(Arc::new(cache_invalidate::CacheInvalidate::new(caches)))
        .function(Arc::new(crypto::CryptoFunction::new()))
        .function(Arc::new(jwt::JwtSign))
        .function(Arc::new(jwt::JwtVerify::new(key_sets)))
}
