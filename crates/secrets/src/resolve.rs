//! Resolvers: look up the value of a reference.

use crate::{Reference, ReferenceError, Secret};

/// An error of resolving a reference. Names the location, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The text is not a valid reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The variable is not set.
    #[error("env://{var}: the variable is not set")]
    Unset {
        /// Name of the variable.
        var: String,
    },
    /// The operator does not allow stored definitions to read the variable.
    #[error("env://{var}: stored definitions may not read this variable; add it to [secrets] allowed_env")]
    NotAllowed {
        /// Name of the variable.
        var: String,
    },
    /// The operator does not allow stored definitions to read the file.
    #[error("file://{place}: stored definitions may not read this file; add it to [secrets] allowed_files")]
    FileNotAllowed {
        /// The place of the file, as the reference has it.
        place: String,
    },
    /// No secret store is configured.
    #[error("{reference}: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set")]
    NotUsable { reference: Reference },
    /// The location could not be read, or has no such value.
    #[error("{reference}: {cause}")]
    Unreadable {
        reference: Reference,
        /// The cause, without any value.
        cause: String,
    },
}

impl ResolveError {
    /// Creates the error for a location that could not be read.
    pub fn unreadable(reference: &Reference, cause: impl Into<String>) -> Self {
        Self::Unreadable { reference: reference.clone(), cause: cause.into() }
    }
}

/// A lookup of references. Implementations must not cache values between loads.
pub trait Resolver {
    /// Returns the value of a reference.
    ///
    /// # Errors
    /// A [`ResolveError`] if the location has no value, or cannot or must not be read.
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError>;
}

/// Resolves `env://` with a lookup function of the caller; refuses every other scheme.
pub struct EnvironmentResolver<F>(pub F);

impl<F: Fn(&str) -> Option<String>> Resolver for EnvironmentResolver<F> {
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError> {
        match reference {
            Reference::Env { var } => {
                (self.0)(var).map(Secret::new).ok_or_else(|| ResolveError::Unset { var: var.clone() })
            }
            Reference::File { .. } => Err(ResolveError::unreadable(reference, "no files are read here")),
            Reference::Vault { .. } => Err(ResolveError::NotUsable { reference: reference.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unresolvable_reference_is_named_with_cause() {
        let environment = EnvironmentResolver(|name: &str| (name == "SET").then(|| "swordfish".to_owned()));
        let told = |text: &str| match crate::parse(text) {
            Ok(Some(reference)) => environment.resolve(&reference).map(|_| ()).unwrap_err().to_string(),
            other => ResolveError::from(other.unwrap_err()).to_string(),
        };
        assert_eq!(told("env://GONE"), "env://GONE: the variable is not set");
        assert_eq!(
            told("vault://p#f"),
            "vault://p#f: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set"
        );
        assert_eq!(told("file:///run/a"), "file:///run/a: no files are read here");
        assert!(told("aws-sm://x").starts_with("aws-sm:// is reserved"));
        assert!(told("vault://p").starts_with("'vault://p' is incomplete"));
        let set = environment.resolve(&Reference::Env { var: "SET".to_owned() });
        assert_eq!(set.unwrap().expose(), "swordfish");
    }
}
