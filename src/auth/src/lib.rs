//! Authentication of the callers of channels: API keys, signatures and tokens.
//!
//! An [`Authenticator`] is the loaded form of a channel's `auth` block, with references resolved and keys
//! validated and hashed. It verifies the [parts of a request](PresentedRequest) as received, and returns the
//! identity of the caller or a [`RefusalReason`]. Every comparison with a secret takes constant time. The
//! reason is only for metrics and traces; callers get the same text for every refusal, except for an expired
//! token.
//!
//! The [`jwt`] module also serves workflows: it verifies and signs their tokens.
//!
//! The crate keeps no state between requests, does no I/O and reads no clock: the current time comes with the
//! request, and key sets come from a [`KeySets`]. `authorization_logic` is an expression, which the channel
//! evaluates.

mod api_key;
mod authenticator;
mod hmac;
mod identity;
pub mod jwt;
mod key_sets;
mod presented;
mod reason;
mod scheme;
mod secret_field;

pub use authenticator::Authenticator;
pub use identity::{CredentialFingerprint, Identity};
pub use key_sets::{Jwks, JwksError, KeySet, KeySets, MAX_CANDIDATES, MAX_KEYS};
pub use presented::PresentedRequest;
pub use reason::RefusalReason;
