//! From the text of a secret field to its value.

use svc_model::config::SecretText;
use svc_secrets::{ReferenceError, ResolveError, Resolver, Secret, parse};

/// Why a secret field is unusable. Names the field and where its value was looked for, never the value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretFieldError {
    /// The reference has no value.
    #[error("auth: {field}: {error}")]
    Unresolved { field: String, error: ResolveError },
    /// It begins like a reference and is none. The text is not repeated: it could be a secret after all.
    #[error("auth: {field}: malformed {scheme}:// reference")]
    Malformed { field: String, scheme: &'static str },
    /// There is nothing in it.
    #[error("auth: {field}: the value is blank")]
    Blank { field: String },
    /// A key no header can carry.
    #[error("auth: {field}: the value is no header value")]
    NoHeaderValue { field: String },
    /// A key the algorithm cannot take.
    #[error("auth: {field}: not usable as a key")]
    Unusable { field: String },
}

/// The value of a secret field: a literal as it stands, a reference looked up.
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
        Err(ResolveError::Reference(ReferenceError::Vault { .. })) => {
            Err(SecretFieldError::Malformed { field: field(), scheme: "vault" })
        }
        Err(error) => Err(SecretFieldError::Unresolved { field: field(), error }),
    }
}
