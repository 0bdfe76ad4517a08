//! The secret source of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use svc_outbound::{ClientOptions, Outbound, OutboundClient, SetupError};
use svc_secrets::{PendingReadings, Readings, Reference, ResolveError, Resolver, Secret, SecretSource};
use tokio::runtime::Handle;

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
        let mut documents = RequestedDocuments::new();
        for reference in wanted {
            match reference {
                Reference::Vault { path, field } => documents.entry(path).or_default().push(field),
                variable @ Reference::Env { .. } => {
                    let value = variables.resolve(&variable);
                    readings.extend([(variable, value)]);
                }
            }
        }
        if documents.is_empty() {
            return Box::pin(std::future::ready(readings));
        }
        let vault_client = match VaultClient::from_environment(&self.environment, &self.client) {
            Ok(vault_client) => vault_client,
            Err(error) => {
                readings.extend(resolve_each(documents, |reference| Err(error.to_resolve_error(reference))));
                return Box::pin(std::future::ready(readings));
            }
        };
        let reading = self.runtime.spawn(vault_client.read(documents.clone()));
        Box::pin(async move {
            match reading.await {
                Ok(read) => readings.extend(read),
                Err(_) => {
                    let crashed =
                        |reference: &_| ResolveError::unreadable(reference, "reading it failed unexpectedly");
                    readings.extend(resolve_each(documents, |reference| Err(crashed(reference))));
                }
            }
            readings
        })
    }
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
