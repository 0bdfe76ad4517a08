//! From a reference to its value.

use std::collections::BTreeMap;

use crate::{Reference, ReferenceError, Secret, parse};

/// Why a reference has no value. Names the place, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The text is no usable reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The variable is not set.
    #[error("env://{var}: the variable is not set")]
    Unset {
        /// Name of the variable.
        var: String,
    },
    /// The backend of the scheme is missing here.
    #[error("{reference}: not usable here: {reason}")]
    NotUsable {
        /// The reference as written.
        reference: Reference,
        /// What is missing.
        reason: &'static str,
    },
}

/// Looks references up. Implementations never cache across loads.
pub trait Resolver {
    /// The value a reference names.
    ///
    /// # Errors
    /// The place is unset, unreachable or not usable here.
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError>;
}

/// Resolves `env://` from a lookup handed in by the caller; every other scheme is refused.
pub struct Environment<F>(pub F);

impl<F: Fn(&str) -> Option<String>> Resolver for Environment<F> {
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError> {
        match reference {
            Reference::Env { var } => {
                (self.0)(var).map(Secret::new).ok_or_else(|| ResolveError::Unset { var: var.clone() })
            }
            Reference::Vault { .. } => {
                let configured = ["VAULT_ADDR", "VAULT_TOKEN"]
                    .iter()
                    .all(|name| (self.0)(name).is_some_and(|value| !value.is_empty()));
                let reason = if configured {
                    "this version cannot read a secret store yet"
                } else {
                    "VAULT_ADDR and VAULT_TOKEN are not both set"
                };
                Err(ResolveError::NotUsable { reference: reference.clone(), reason })
            }
        }
    }
}

/// A declared secret that could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("secret {name}: {error}")]
pub struct DeclaredError {
    /// Name of the entry.
    pub name: String,
    /// Why.
    #[source]
    pub error: ResolveError,
}

/// Resolves every declared secret (name → reference), each distinct reference once.
///
/// # Errors
/// All entries that have no value, in the order of their names.
pub fn resolve_declared(
    declared: &BTreeMap<String, String>,
    resolver: &dyn Resolver,
) -> Result<BTreeMap<String, Secret>, Vec<DeclaredError>> {
    let mut read: BTreeMap<Reference, Result<Secret, ResolveError>> = BTreeMap::new();
    let mut values = BTreeMap::new();
    let mut failed = Vec::new();
    for (name, text) in declared {
        let value = match parse(text) {
            Ok(Some(reference)) => {
                read.entry(reference).or_insert_with_key(|reference| resolver.resolve(reference)).clone()
            }
            Ok(None) => Ok(Secret::new(text.clone())),
            Err(error) => Err(error.into()),
        };
        match value {
            Ok(value) => drop(values.insert(name.clone(), value)),
            Err(error) => failed.push(DeclaredError { name: name.clone(), error }),
        }
    }
    if failed.is_empty() { Ok(values) } else { Err(failed) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn declared(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn every_failing_entry_is_named_and_no_value_is_told() {
        let environment = Environment(|name: &str| (name == "SET").then(|| "swordfish".to_owned()));
        let entries =
            declared(&[("a", "env://GONE"), ("b", "vault://p#f"), ("c", "aws-sm://x"), ("d", "env://SET")]);
        let failed = resolve_declared(&entries, &environment).unwrap_err();
        let text: Vec<String> = failed.iter().map(ToString::to_string).collect();
        assert_eq!(text[0], "secret a: env://GONE: the variable is not set");
        assert_eq!(
            text[1],
            "secret b: vault://p#f: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set"
        );
        assert!(text[2].starts_with("secret c: aws-sm:// is reserved"), "{}", text[2]);
        assert_eq!(failed.len(), 3);
        assert!(!text.concat().contains("swordfish"));
    }

    #[test]
    fn a_reference_named_twice_is_read_once() {
        let reads = Cell::new(0);
        let environment = Environment(|_: &str| {
            reads.set(reads.get() + 1);
            Some("value".to_owned())
        });
        let values =
            resolve_declared(&declared(&[("a", "env://X"), ("b", "env://X")]), &environment).unwrap();
        assert_eq!((values["a"].expose(), values["b"].expose(), reads.get()), ("value", "value", 1));
    }
}
