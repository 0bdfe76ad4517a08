//! Resolving of secret fields.

use svc_model::config::SecretText;
use svc_secrets::{ReferenceError, ResolveError, Resolver, Secret, parse};

/// An error of resolving a secret field. Names the field and the location of its value, never the value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretFieldError {
    /// The reference has no value.
    #[error("auth: {field}: {error}")]
    Unresolved { field: String, error: ResolveError },
    /// The text starts like a reference but is malformed. It is not repeated, because it may be a secret.
    #[error("auth: {field}: malformed {scheme}:// reference")]
    Malformed { field: String, scheme: &'static str },
    /// The value is blank.
    #[error("auth: {field}: the value is blank")]
    Blank { field: String },
    /// The key cannot be sent in a header.
    #[error("auth: {field}: the value is no header value")]
    NoHeaderValue { field: String },
    /// The algorithm cannot use the key.
    #[error("auth: {field}: not usable as a key")]
    Unusable { field: String },
}

/// Returns the value of a secret field: a literal unchanged, a reference resolved.
pub(crate) fn resolve(
    field: &str,
    text: &SecretText,
    resolver: &dyn Resolver,
) -> Result<Secret, SecretFieldError> {
    let field = || field.to_owned();
    let resolved = match parse(text.expose()) {
        Ok(None) => Ok(Secret::new(text.expose())),
        Ok(Some(reference)) => resolver.resolve(&reference),
        Err(error) => Err(error.into()),
    };
    match resolved {
        Ok(secret) if secret.expose().trim().is_empty() => Err(SecretFieldError::Blank { field: field() }),
        Ok(secret) => Ok(secret),
        Err(ResolveError::Reference(ReferenceError::Env { .. })) => {
            Err(SecretFieldError::Malformed { field: field(), scheme: "env" })
        }
        Err(ResolveError::Reference(ReferenceError::File { .. })) => {
            Err(SecretFieldError::Malformed { field: field(), scheme: "file" })
        }
        Err(ResolveError::Reference(ReferenceError::Vault { .. })) => {
            Err(SecretFieldError::Malformed { field: field(), scheme: "vault" })
        }
        Err(error) => Err(SecretFieldError::Unresolved { field: field(), error }),
    }
}
