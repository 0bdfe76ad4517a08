//! Task functions that need no connector: `crypto`, `jwt_sign`, `jwt_verify`.
//!
//! [`register`] hands them to an engine under those names. Their inputs are declared once, in the engine's catalogue: what
//! authors are told, what is refused before anything is stored and what is checked again on every message follow from it.
//!
//! A secret field takes a literal, a reference (`env://`, `vault://`) or `{"secret": name}`. All are read when a workflow
//! is loaded and kept as what they are used for (a keyed state, a parsed key), never as text in a message. A reference
//! without a value leaves the workflow in service and fails the task, naming the field; a value that is no usable key and
//! a name that is not declared keep the workflow from being loaded. No value ever stands in an error, a trace or a log.
//!
//! Password hashes are computed on threads for blocking work, a few at a time. Nothing else blocks; only a token whose
//! issuer's keys are not at hand waits for the network, through [`KeySets`].

mod blocking;
mod crypto;
mod encoding;
mod input;
mod jwt;
mod secret;

use std::sync::Arc;

use svc_auth::KeySets;
use svc_engine::EngineBuilder;

/// Registers the functions.
#[must_use]
pub fn register(builder: EngineBuilder, key_sets: Arc<dyn KeySets>) -> EngineBuilder {
    builder
        .function(Arc::new(crypto::CryptoFunction::new()))
        .function(Arc::new(jwt::JwtSign))
        .function(Arc::new(jwt::JwtVerify::new(key_sets)))
}
