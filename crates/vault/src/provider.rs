//! The secret source of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use svc_outbound::{ClientOptions, Outbound, OutboundClient, SetupError};
use svc_secrets::{PendingReadings, Readings, Reference, ResolveError, Resolver, Secret, SecretSource};
use tokio::runtime::Handle;

use crate::secret_file::read_secret_file;
use crate::vault_client::{TIMEOUT, VaultClient};

/// A lookup in the environment of the process.
pub type EnvironmentLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Reads references. Keeps pooled connections, and nothing of what it read.
pub struct SecretProvider {
    environment: EnvironmentLookup,
    client: OutboundClient,
    runtime: Handle,
}

impl fmt::Debug for SecretProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretProvider").finish_non_exhaustive()
    }
}

impl SecretProvider {
    /// Creates a provider. `runtime` drives its connections, whatever thread reads.
    ///
    /// # Errors
    /// [`SetupError`] when no client can be set up.
    pub fn new(
        environment: EnvironmentLookup,
        outbound: &Outbound,
        runtime: Handle,
    ) -> Result<Self, SetupError> {
        let client = outbound.client(ClientOptions { allow_private: true, timeout: TIMEOUT })?;
        Ok(Self { environment, client, runtime })
    }
}

impl SecretSource for SecretProvider {
    fn read(&self, wanted: BTreeSet<Reference>) -> PendingReadings {
        let variables = svc_secrets::EnvironmentResolver(|name: &str| (self.environment)(name));
        let mut readings = Readings::default();
        let (mut documents, mut places) = (RequestedDocuments::new(), BTreeSet::new());
        for reference in wanted {
            match reference {
                Reference::File { place } => {
                    places.insert(place);
                }
                Reference::Vault { path, field } => documents.entry(path).or_default().push(field),
                variable @ Reference::Env { .. } => {
                    let value = variables.resolve(&variable);
                    readings.extend([(variable, value)]);
                }
            }
        }
        let (files, documents) = (self.read_files(places), self.read_documents(documents));
        Box::pin(async move {
            readings.extend(files.await);
            readings.extend(documents.await);
            readings
        })
    }
}

/// References with their values, being read.
type PendingReferences = Pin<Box<dyn Future<Output = Vec<ResolvedReference>> + Send>>;

impl SecretProvider {
    /// Begins to read files, on a thread that may block.
    fn read_files(&self, places: BTreeSet<String>) -> PendingReferences {
        if places.is_empty() {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let environment = Arc::clone(&self.environment);
        let wanted = places.clone();
        let reading = self.runtime.spawn_blocking(move || {
            resolve_files(wanted, |place| read_secret_file(place, |name| environment(name)))
        });
        Box::pin(async move {
            let crashed = |place: &str| Err(crashed(&Reference::File { place: place.to_owned() }));
            reading.await.unwrap_or_else(|_| resolve_files(places, crashed))
        })
    }

    /// Begins to read documents of the secret store.
    fn read_documents(&self, documents: RequestedDocuments) -> PendingReferences {
        if documents.is_empty() {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let vault_client = match VaultClient::from_environment(&self.environment, &self.client) {
            Ok(vault_client) => vault_client,
            Err(error) => {
                let refused = resolve_each(documents, |reference| Err(error.to_resolve_error(reference)));
                return Box::pin(std::future::ready(refused.collect()));
            }
        };
        let reading = self.runtime.spawn(vault_client.read(documents.clone()));
        Box::pin(async move {
            reading
                .await
                .unwrap_or_else(|_| resolve_each(documents, |reference| Err(crashed(reference))).collect())
        })
    }
}

/// The error of a reference whose reading ended in a panic.
fn crashed(reference: &Reference) -> ResolveError {
    ResolveError::unreadable(reference, "reading it failed unexpectedly")
}

/// Resolves a reference to each file with `value`.
fn resolve_files(
    places: BTreeSet<String>,
    value: impl Fn(&str) -> Result<Secret, ResolveError>,
) -> Vec<ResolvedReference> {
    let resolve = |place: String| {
        let value = value(&place);
        (Reference::File { place }, value)
    };
    places.into_iter().map(resolve).collect()
}

/// The requested fields of each document, by the path of the document.
pub(crate) type RequestedDocuments = BTreeMap<String, Vec<String>>;

/// A reference with its value.
pub(crate) type ResolvedReference = (Reference, Result<Secret, ResolveError>);

/// Resolves a reference to each field of the documents with `value`.
pub(crate) fn resolve_each(
    documents: RequestedDocuments,
    value: impl Fn(&Reference) -> Result<Secret, ResolveError>,
) -> impl Iterator<Item = ResolvedReference> {
    let references = documents.into_iter().flat_map(|(path, fields)| {
        fields.into_iter().map(move |field| Reference::Vault { path: path.clone(), field })
    });
    references.map(move |reference| {
        let value = value(&reference);
        (reference, value)
    })
}
