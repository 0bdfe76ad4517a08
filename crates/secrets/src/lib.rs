//! Secrets: references to them, resolving, encryption at rest, and protection against disclosure.
//!
//! - [`substitute()`]: replaces `${VAR}` in a text before it is parsed.
//! - [`Reference`]: `env://…`, `file://…` and `vault://…` in a parsed field, read by a [`SecretSource`] and
//!   looked up through a [`Resolver`].
//! - [`AllowedVariables`] and [`AllowedFiles`]: the environment variables and files that stored definitions may
//!   read.
//! - [`Secret`]: a value that cannot be printed.
//! - [`EnvelopeKeys`]: encryption at rest.
//! - [`mask`]: masks the secrets of a configuration.
//! - [`redact()`]: removes secrets from a text of another system, which may repeat them.
//!
//! The crate does not access the environment, files or the network: the caller passes the sources to look up.
//! Nothing is cached, so the next load sees a rotated value.

mod allow_list;
mod envelope;
pub mod mask;
mod redact;
mod reference;
mod resolve;
mod secret;
mod source;
mod substitute;

pub use allow_list::{AllowedFiles, AllowedVariables, is_file_pattern, is_variable_pattern};
pub use envelope::{EnvelopeError, EnvelopeKeys, EnvelopePlace, NONCE, is_sealed};
pub use redact::redact;
pub use reference::{Reference, ReferenceError, collect, is_reference, parse};
pub use resolve::{EnvironmentResolver, ResolveError, Resolver};
pub use secret::Secret;
pub use source::{Keyring, PendingReadings, Readings, SecretFingerprint, SecretSource};
pub use substitute::{PlaceholderError, SubstituteError, Substituted, Syntax, substitute};
