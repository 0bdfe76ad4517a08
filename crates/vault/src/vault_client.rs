//! The client of the secret store behind `vault://`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use svc_outbound::header::{HeaderMap, HeaderName, HeaderValue};
use svc_outbound::{FetchError, OutboundClient, StatusCode, Url, check_url};
use svc_secrets::{Reference, ResolveError, Secret};
use tokio::time::{Instant, timeout_at};

use crate::document::Document;
use crate::provider::{EnvironmentLookup, RequestedDocuments, ResolvedReference, resolve_each};

/// The variable with the address of the store.
const ADDRESS: &str = "VAULT_ADDR";
/// The variable with the token of the store.
const TOKEN: &str = "VAULT_TOKEN";
/// The variable with the namespace of the store, if it has several.
const NAMESPACE: &str = "VAULT_NAMESPACE";
/// The header that carries the token.
const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-vault-token");
/// The header that carries the namespace.
const NAMESPACE_HEADER: HeaderName = HeaderName::from_static("x-vault-namespace");

/// Time limit of one document, from the dial to the last byte.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of all documents of a load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a document, in bytes.
const CAP: usize = 1024 * 1024;
/// Maximum number of documents that are requested at the same time.
const CONCURRENCY: usize = 16;

/// The reason why no store can be asked.
pub(crate) enum StoreUnavailable {
    /// The environment has no address or no token of a store.
    Absent,
    /// The address cannot be used, for this reason.
    Address(String),
    /// The variable of this name cannot be sent in a header.
    NoHeaderValue(&'static str),
}

impl StoreUnavailable {
    /// Builds the error of a reference to the store.
    pub(crate) fn to_resolve_error(&self, reference: &Reference) -> ResolveError {
        let cause = match self {
            Self::Absent => {
                return ResolveError::NotUsable { reference: reference.clone() };
            }
            Self::Address(why) => format!("{ADDRESS}: {why}"),
            Self::NoHeaderValue(name) => format!("{name} is no header value"),
        };
        ResolveError::unreadable(reference, cause)
    }
}

/// A client of one secret store.
pub(crate) struct VaultClient {
    client: OutboundClient,
    /// The address of the API, with `/` at its end.
    base: Url,
    /// The token, and the namespace if there is one.
    headers: HeaderMap,
}

/// The reason why a document was not read.
#[derive(Debug, thiserror::Error)]
enum DocumentError {
    /// The path makes no URL, or one outside of the API.
    #[error("the path is not usable")]
    Path,
    /// No complete response.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A status other than success, redirects included.
    #[error("the secret store answered {0}")]
    Status(StatusCode),
    /// The body is not a document of the store.
    #[error("the answer of the secret store is no JSON")]
    Json,
    /// Another document of the same load got no answer in time, or the time limit of the load has passed.
    #[error("the secret store does not answer")]
    Silent,
}

impl VaultClient {
    /// Creates a client of the store that the environment names, anew for every load. An empty variable
    /// counts as unset.
    pub(crate) fn from_environment(
        environment: &EnvironmentLookup,
        client: &OutboundClient,
    ) -> Result<Self, StoreUnavailable> {
        let variable = |name| environment(name).filter(|value| !value.is_empty());
        let (Some(address), Some(token)) = (variable(ADDRESS), variable(TOKEN)) else {
            return Err(StoreUnavailable::Absent);
        };
        let base = format!("{}/v1/", address.trim_end_matches('/'));
        // The text of this error names no credential.
        let base = check_url(&base, true).map_err(|error| StoreUnavailable::Address(error.to_string()))?;
        let header = |name, value: &str| {
            HeaderValue::from_str(value).map_err(|_| StoreUnavailable::NoHeaderValue(name))
        };
        let mut token = header(TOKEN, &token)?;
        token.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(TOKEN_HEADER, token)]);
        if let Some(namespace) = variable(NAMESPACE) {
            headers.insert(NAMESPACE_HEADER, header(NAMESPACE, &namespace)?);
        }
        Ok(Self { client: client.clone(), base, headers })
    }

    /// Reads documents, each once, and resolves the references to them. After a timeout, of one document or
    /// of all together, no further document is requested, so that a load is delayed for a bounded time.
    pub(crate) async fn read(self, documents: RequestedDocuments) -> Vec<ResolvedReference> {
        let silent = &AtomicBool::new(false);
        let (vault_client, deadline) = (&self, Instant::now() + LOAD_TIMEOUT);
        let read = futures_util::stream::iter(documents).map(|(path, fields)| async move {
            let document = match silent.load(Ordering::Relaxed) {
                true => Err(DocumentError::Silent),
                false => timeout_at(deadline, vault_client.document(&path))
                    .await
                    .unwrap_or(Err(DocumentError::Silent)),
            };
            if let Err(DocumentError::Silent | DocumentError::Fetch(FetchError::Timeout { .. })) = &document {
                silent.store(true, Ordering::Relaxed);
            }
            let documents = RequestedDocuments::from([(path, fields)]);
            resolve_each(documents, |reference| resolve_field(&document, reference)).collect::<Vec<_>>()
        });
        read.buffer_unordered(CONCURRENCY).concat().await
    }

    /// Reads the document at `path`, which is relative to the API.
    ///
    /// # Errors
    /// [`DocumentError::Path`] if the path is not usable, [`DocumentError::Fetch`] without a complete
    /// response, [`DocumentError::Status`] for a status other than success, [`DocumentError::Json`] if the
    /// body is no document.
    async fn document(&self, path: &str) -> Result<Document, DocumentError> {
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(|_| DocumentError::Path)?;
        // Parsing has resolved the `..` segments, which may have led out of the API.
        if !url.as_str().starts_with(self.base.as_str()) {
            return Err(DocumentError::Path);
        }
        let answer = self.client.get_with(&url, self.headers.clone(), CAP).await?;
        if !answer.status.is_success() {
            return Err(DocumentError::Status(answer.status));
        }
        Document::parse(&answer.body).ok_or(DocumentError::Json)
    }
}

fn resolve_field(
    document: &Result<Document, DocumentError>,
    reference: &Reference,
) -> Result<Secret, ResolveError> {
    let document = document.as_ref().map_err(|why| ResolveError::unreadable(reference, why.to_string()))?;
    let field = match reference {
        Reference::Vault { field, .. } => document.field(field),
        Reference::Env { .. } | Reference::File { .. } => None,
    };
    field.ok_or_else(|| ResolveError::unreadable(reference, "the document has no such field"))
}
