//! Reading references, all of a load at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::{Environment, Reference, ResolveError, Resolver, Secret};

/// What a [`Source`] is about to read.
pub type Reading = Pin<Box<dyn Future<Output = Readings> + Send>>;

/// Where the values of references come from.
pub trait Source: Send + Sync {
    /// Reads each reference, now: nothing is kept from one call to the next. What has no value says why.
    fn read(&self, wanted: BTreeSet<Reference>) -> Reading;
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> Source for Environment<F> {
    fn read(&self, wanted: BTreeSet<Reference>) -> Reading {
        let read = wanted.into_iter().map(|reference| {
            let value = self.resolve(&reference);
            (reference, value)
        });
        Box::pin(std::future::ready(read.collect()))
    }
}

/// What the references of one load stand for. The values are not printable.
#[derive(Clone, Debug, Default)]
pub struct Readings(BTreeMap<Reference, Result<Secret, ResolveError>>);

impl FromIterator<(Reference, Result<Secret, ResolveError>)> for Readings {
    fn from_iter<I: IntoIterator<Item = (Reference, Result<Secret, ResolveError>)>>(read: I) -> Self {
        Self(read.into_iter().collect())
    }
}

impl Extend<(Reference, Result<Secret, ResolveError>)> for Readings {
    fn extend<I: IntoIterator<Item = (Reference, Result<Secret, ResolveError>)>>(&mut self, read: I) {
        self.0.extend(read);
    }
}

impl Resolver for Readings {
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError> {
        let unread = || ResolveError::unreadable(reference, "it was not read for this load");
        self.0.get(reference).cloned().unwrap_or_else(|| Err(unread()))
    }
}

/// Tells whether values are those of another time, without keeping them. Held in memory only and not printable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of these values, in this order; of what has no value, the reason counts.
    pub fn of(values: impl IntoIterator<Item = Result<Secret, ResolveError>>) -> Self {
        let mut hash = Sha256::new();
        for value in values {
            let (kind, text) = match value {
                Ok(secret) => (b'v', secret),
                Err(error) => (b'e', Secret::new(error.to_string())),
            };
            hash.update([kind]);
            hash.update(text.expose().len().to_be_bytes());
            hash.update(text.expose());
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(******)")
    }
}

/// The secrets of a process: where references are read, and which ones have names of their own. Cheap to clone.
#[derive(Clone)]
pub struct Keyring {
    source: Arc<dyn Source>,
    declared: Arc<BTreeMap<String, Reference>>,
}

impl Keyring {
    /// `declared` are the names workflows use, each with the reference it stands for.
    pub fn new(source: Arc<dyn Source>, declared: BTreeMap<String, Reference>) -> Self {
        Self { source, declared: Arc::new(declared) }
    }

    /// Reads each reference, now.
    pub async fn read(&self, wanted: BTreeSet<Reference>) -> Readings {
        if wanted.is_empty() {
            return Readings::default();
        }
        self.source.read(wanted).await
    }

    /// The references that declared names stand for.
    pub fn declared(&self) -> BTreeSet<Reference> {
        self.declared.values().cloned().collect()
    }

    /// What the declared names stand for, by name.
    pub fn named<'k>(
        &'k self,
        readings: &'k Readings,
    ) -> impl Iterator<Item = (&'k str, Result<Secret, ResolveError>)> {
        self.declared.iter().map(|(name, reference)| (name.as_str(), readings.resolve(reference)))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("declared", &self.declared).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(var: &str) -> Reference {
        Reference::Env { var: var.to_owned() }
    }

    #[test]
    fn what_was_not_read_has_no_value() {
        let readings = Readings::from_iter([(env("A"), Ok(Secret::new("1")))]);
        assert_eq!(readings.resolve(&env("A")).unwrap().expose(), "1");
        let error = readings.resolve(&env("B")).unwrap_err();
        assert_eq!(error.to_string(), "env://B: it was not read for this load");
    }

    #[test]
    fn a_fingerprint_follows_every_value_and_its_place() {
        let of = |values: &[&str]| Fingerprint::of(values.iter().map(|value| Ok(Secret::new(*value))));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        for other in [&["b", "a"] as &[_], &["ab"], &["a", "b", ""], &["a"]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
        let why = |cause: &str| Fingerprint::of([Err(ResolveError::unreadable(&env("A"), cause))]);
        assert_ne!(why("down"), why("sealed"));
        assert_ne!(why("down"), of(&["env://A: down"]));
        assert_eq!(format!("{:?}", of(&["a"])), "Fingerprint(******)");
    }
}
