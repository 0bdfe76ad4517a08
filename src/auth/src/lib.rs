//! Who may call a channel: API keys, signatures, tokens.
//!
//! An [`Authenticator`] is the `auth` block of a channel made ready: references resolved, keys checked and hashed. It
//! verifies what a request [presents](Presented) over the bytes as received and says who called, or why not. Every
//! comparison with a secret takes the same time whatever is wrong. The [`RefusalReason`] of a refusal is for metrics and traces;
//! what the caller is told is one text for all, but for a token that has expired.
//!
//! The [`jwt`] module also serves workflows: it verifies the tokens they are handed and signs those they make.
//!
//! This crate keeps nothing between requests, opens no socket and reads no clock: the instant comes with the request,
//! key sets of token issuers come from a [`KeySets`]. `authorization_logic` is an expression and belongs to the channel.

mod api_key;
mod authenticator;
mod hmac;
pub mod jwt;
mod key_sets;
mod reason;
mod scheme;
mod secret_field;

pub use authenticator::{Authenticator, CredentialFingerprint, Identity, PresentedRequest};
pub use key_sets::{Jwks, JwksError, KeySet, KeySets, MAX_CANDIDATES, MAX_KEYS};
pub use reason::RefusalReason;
