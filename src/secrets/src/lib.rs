//! Secrets: how they are written, read and kept from being shown.
//!
//! - [`substitute()`]: `${VAR}` in a text, before it is parsed.
//! - [`Reference`]: `env://…` and `vault://…` in a parsed field, read by a [`SecretSource`], looked up through a [`Resolver`].
//! - [`AllowedVariables`]: which variables stored definitions may read.
//! - [`Secret`]: a value that cannot be printed.
//! - [`EnvelopeKeys`]: a text encrypted at rest.
//! - [`mask`]: what a configuration may show of itself.
//! - [`redact()`]: a text of somebody else without the secrets it may repeat.
//!
//! Nothing here reads the environment, a file or the network: the caller hands in what there is to look up. Nothing is
//! cached, so a rotated value is seen by the next load.

mod allow_list;
mod envelope;
pub mod mask;
mod redact;
mod reference;
mod resolve;
mod secret;
mod source;
mod substitute;

pub use allow_list::{AllowedVariables, is_variable_pattern};
pub use envelope::{EnvelopeError, EnvelopeKeys, EnvelopePlace, NONCE, is_sealed};
pub use redact::redact;
pub use reference::{Reference, ReferenceError, collect, is_reference, parse};
pub use resolve::{EnvironmentResolver, ResolveError, Resolver};
pub use secret::Secret;
pub use source::{Keyring, PendingReadings, Readings, SecretFingerprint, SecretSource};
pub use substitute::{PlaceholderError, SubstituteError, Substituted, Syntax, substitute};
