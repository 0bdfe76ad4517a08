//! Secret sources: read all references of a load at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::{AllowedFiles, AllowedVariables, EnvironmentResolver, Reference, ResolveError, Resolver, Secret};

/// The future of [`SecretSource::read`].
pub type PendingReadings = Pin<Box<dyn Future<Output = Readings> + Send>>;

/// A source of the values of references.
pub trait SecretSource: Send + Sync {
    /// Reads each reference now; nothing is cached between calls. A reference without a value maps to its
    /// error.
    fn read(&self, wanted: BTreeSet<Reference>) -> PendingReadings;
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> SecretSource for EnvironmentResolver<F> {
    fn read(&self, wanted: BTreeSet<Reference>) -> PendingReadings {
        let read = wanted.into_iter().map(|reference| {
            let value = self.resolve(&reference);
            (reference, value)
        });
        Box::pin(std::future::ready(read.collect()))
    }
}

/// The values of the references of one load. They cannot be printed.
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

/// A fingerprint of secret values, which detects a change without keeping them. Kept only in memory and
/// cannot be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretFingerprint([u8; 32]);

impl SecretFingerprint {
    /// Computes the fingerprint of the values in this order. A missing value contributes its error.
    pub fn from_values(values: impl IntoIterator<Item = Result<Secret, ResolveError>>) -> Self {
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

impl fmt::Debug for SecretFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretFingerprint(******)")
    }
}

/// The secrets of a process: the source of references, the declared names, and the variables and files that
/// stored definitions may read. Cheap to clone.
#[derive(Clone)]
pub struct Keyring {
    source: Arc<dyn SecretSource>,
    declared: Arc<BTreeMap<String, Reference>>,
    allowed: AllowedVariables,
    allowed_files: AllowedFiles,
}

impl Keyring {
    /// Creates a keyring. `declared` maps the names that workflows use to their references.
    pub fn new(source: Arc<dyn SecretSource>, declared: BTreeMap<String, Reference>) -> Self {
        let (allowed, allowed_files) = (AllowedVariables::all(), AllowedFiles::all());
        Self { source, declared: Arc::new(declared), allowed, allowed_files }
    }

    /// Restricts the references of stored definitions to these variables.
    #[must_use]
    pub fn allowing(self, allowed: AllowedVariables) -> Self {
        Self { allowed, ..self }
    }

    /// Restricts the references of stored definitions to these files.
    #[must_use]
    pub fn allowing_files(self, allowed_files: AllowedFiles) -> Self {
        Self { allowed_files, ..self }
    }

    /// Returns the variables that stored definitions may read.
    pub fn allowed_variables(&self) -> &AllowedVariables {
        &self.allowed
    }

    /// Reads each reference of stored definitions now. A variable or file that they may not read maps to an
    /// error.
    pub async fn read(&self, wanted: BTreeSet<Reference>) -> Readings {
        let (allowed, mut readings) = self.confine(wanted);
        readings.extend(self.read_settings(allowed).await.0);
        readings
    }

    /// Reads each reference of the settings now. The operator may use any variable and file.
    pub async fn read_settings(&self, wanted: BTreeSet<Reference>) -> Readings {
        if wanted.is_empty() {
            return Readings::default();
        }
        self.source.read(wanted).await
    }

    /// Reads the references of the declared names now.
    pub async fn read_declared(&self) -> Readings {
        self.read_settings(self.declared.values().cloned().collect()).await
    }

    /// Reads the references of stored definitions and those of the declared names, each once, and returns
    /// both results.
    pub async fn read_with_declared(&self, wanted: BTreeSet<Reference>) -> (Readings, Readings) {
        let (mut allowed, refused) = self.confine(wanted);
        allowed.extend(self.declared.values().cloned());
        let declared = self.read_settings(allowed).await;
        let mut readings = declared.clone();
        readings.extend(refused.0);
        (readings, declared)
    }

    /// Splits the references into those that may be read, and the errors of the others.
    fn confine(&self, wanted: BTreeSet<Reference>) -> (BTreeSet<Reference>, Readings) {
        let mut refused = Readings::default();
        let allowed = wanted.into_iter().filter(|reference| match reference {
            Reference::Env { var } if !self.allowed.allows(var) => {
                let error = ResolveError::NotAllowed { var: var.clone() };
                refused.extend([(reference.clone(), Err(error))]);
                false
            }
            Reference::File { place } if !self.allowed_files.allows(place) => {
                let error = ResolveError::FileNotAllowed { place: place.clone() };
                refused.extend([(reference.clone(), Err(error))]);
                false
            }
            _ => true,
        });
        (allowed.collect(), refused)
    }

    /// Returns the values of the declared names.
    pub fn declared_values<'k>(
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
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn env(var: &str) -> Reference {
        Reference::Env { var: var.to_owned() }
    }

    /// Returns the output of a future that never waits.
    fn at_once<T>(future: impl Future<Output = T>) -> T {
        let mut cx = Context::from_waker(Waker::noop());
        match std::pin::pin!(future).poll(&mut cx) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn unread_reference_has_no_value() {
        let readings = Readings::from_iter([(env("A"), Ok(Secret::new("1")))]);
        assert_eq!(readings.resolve(&env("A")).unwrap().expose(), "1");
        let error = readings.resolve(&env("B")).unwrap_err();
        assert_eq!(error.to_string(), "env://B: it was not read for this load");
    }

    #[test]
    fn allowed_variables_bound_definitions_but_not_settings() {
        let source = Arc::new(EnvironmentResolver(|name: &str| Some(format!("value of {name}"))));
        let declared = BTreeMap::from([("own".to_owned(), env("OPERATOR"))]);
        let keyring =
            Keyring::new(source, declared).allowing(AllowedVariables::only(["PARTNER_*".to_owned()]));
        let wanted = BTreeSet::from([env("PARTNER_A"), env("OPERATOR"), env("PATH")]);
        let vault = Reference::Vault { path: "p".to_owned(), field: "f".to_owned() };
        at_once(async {
            let (joint, own) = keyring.read_with_declared(wanted.clone()).await;
            for readings in [keyring.read(wanted).await, joint] {
                assert_eq!(readings.resolve(&env("PARTNER_A")).unwrap().expose(), "value of PARTNER_A");
                for var in ["OPERATOR", "PATH"] {
                    let error = readings.resolve(&env(var)).unwrap_err().to_string();
                    assert!(error.starts_with(&format!("env://{var}: ")), "{error}");
                    assert!(error.contains("[secrets] allowed_env"), "{error}");
                }
            }
            for readings in [own, keyring.read_declared().await] {
                assert_eq!(
                    keyring.declared_values(&readings).next().unwrap().1.unwrap().expose(),
                    "value of OPERATOR"
                );
            }
            let error = keyring.read([vault.clone()].into()).await.resolve(&vault).unwrap_err();
            assert!(matches!(error, ResolveError::NotUsable { .. }), "{error}");
        });
    }

    #[test]
    fn allowed_files_bound_definitions_but_not_settings() {
        let source = Arc::new(EnvironmentResolver(|_: &str| None::<String>));
        let keyring = Keyring::new(source, BTreeMap::new())
            .allowing_files(AllowedFiles::only(["/etc/partners/*".to_owned()]));
        let [partner, other] =
            ["/etc/partners/a", "/etc/key"].map(|place| Reference::File { place: place.to_owned() });
        at_once(async {
            let wanted = BTreeSet::from([partner.clone(), other.clone()]);
            let readings = keyring.read(wanted.clone()).await;
            let why = |readings: &Readings, file: &_| readings.resolve(file).unwrap_err().to_string();
            assert!(why(&readings, &other).contains("[secrets] allowed_files"));
            assert_eq!(why(&readings, &partner), "file:///etc/partners/a: no files are read here");
            assert!(!why(&keyring.read_settings(wanted).await, &other).contains("allowed_files"));
        });
    }

    #[test]
    fn a_fingerprint_follows_every_value_and_its_place() {
        let of = |values: &[&str]| {
            SecretFingerprint::from_values(values.iter().map(|value| Ok(Secret::new(*value))))
        };
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        for other in [&["b", "a"] as &[_], &["ab"], &["a", "b", ""], &["a"]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
        let why =
            |cause: &str| SecretFingerprint::from_values([Err(ResolveError::unreadable(&env("A"), cause))]);
        assert_ne!(why("down"), why("sealed"));
        assert_ne!(why("down"), of(&["env://A: down"]));
        assert_eq!(format!("{:?}", of(&["a"])), "SecretFingerprint(******)");
    }
}
