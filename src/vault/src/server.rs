//! The server behind `vault://`: which one it is, and how it is asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use svc_outbound::header::{HeaderMap, HeaderName, HeaderValue};
use svc_outbound::{FetchError, OutboundClient, StatusCode, Url, check_url};
use svc_secrets::{Reference, ResolveError, Secret};
use tokio::time::{Instant, timeout_at};

use crate::document::Document;
use crate::store::{Documents, EnvironmentLookup, Read, each};

/// Where the store is.
const ADDRESS: &str = "VAULT_ADDR";
/// What opens it.
const TOKEN: &str = "VAULT_TOKEN";
/// The header that carries the token.
const HEADER: HeaderName = HeaderName::from_static("x-vault-token");

/// For one document, from the dial to the last byte.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// For all documents of a load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest document that is read, in bytes.
const CAP: usize = 1024 * 1024;
/// Documents asked for at the same time.
const AT_ONCE: usize = 16;

/// Why there is no store to ask.
pub(crate) enum Unusable {
    Absent,
    Address(String),
    Token,
}

impl Unusable {
    /// What a reference to the store fails with.
    pub(crate) fn of(&self, reference: &Reference) -> ResolveError {
        let cause = match self {
            Self::Absent => {
                return ResolveError::NotUsable { reference: reference.clone() };
            }
            Self::Address(why) => format!("{ADDRESS}: {why}"),
            Self::Token => format!("{TOKEN} is no header value"),
        };
        ResolveError::unreadable(reference, cause)
    }
}

/// A store that can be asked.
pub(crate) struct Server {
    client: OutboundClient,
    /// The address of the API, with `/` at its end.
    base: Url,
    token: HeaderValue,
}

/// Why a document was not read.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The path leads out of the API.
    #[error("the path is not usable")]
    Path,
    /// No whole answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Redirects are among these.
    #[error("the secret store answered {0}")]
    Status(StatusCode),
    /// Not a document.
    #[error("the answer of the secret store is no JSON")]
    Json,
    /// Another document of the same load waited in vain, or the time of the load is over.
    #[error("the secret store does not answer")]
    Silent,
}

impl Server {
    /// The store that the environment names. Looked up for every load, as everything is.
    pub(crate) fn named_by(
        environment: &EnvironmentLookup,
        client: &OutboundClient,
    ) -> Result<Self, Unusable> {
        let variable = |name| environment(name).filter(|value| !value.is_empty());
        let (Some(address), Some(token)) = (variable(ADDRESS), variable(TOKEN)) else {
            return Err(Unusable::Absent);
        };
        let base = format!("{}/v1/", address.trim_end_matches('/'));
        // Its own texts name no credential.
        let base = check_url(&base, true).map_err(|error| Unusable::Address(error.to_string()))?;
        let mut token = HeaderValue::from_str(&token).map_err(|_| Unusable::Token)?;
        token.set_sensitive(true);
        Ok(Self { client: client.clone(), base, token })
    }

    /// Reads documents, each once. A store that let one wait too long, or all of them together, is not asked for those
    /// that are left: however many there are and however it fares, a load is held up for a bounded time.
    pub(crate) async fn read(self, documents: Documents) -> Vec<Read> {
        let silent = &AtomicBool::new(false);
        let (server, deadline) = (&self, Instant::now() + LOAD_TIMEOUT);
        let read = futures_util::stream::iter(documents).map(|(path, fields)| async move {
            let document = match silent.load(Ordering::Relaxed) {
                true => Err(Failure::Silent),
                false => timeout_at(deadline, server.document(&path)).await.unwrap_or(Err(Failure::Silent)),
            };
            if let Err(Failure::Silent | Failure::Fetch(FetchError::Timeout { .. })) = &document {
                silent.store(true, Ordering::Relaxed);
            }
            let documents = Documents::from([(path, fields)]);
            each(documents, |reference| value(&document, reference)).collect::<Vec<_>>()
        });
        read.buffer_unordered(AT_ONCE).concat().await
    }

    async fn document(&self, path: &str) -> Result<Document, Failure> {
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(|_| Failure::Path)?;
        // Dot segments are resolved by now, and may have climbed.
        if !url.as_str().starts_with(self.base.as_str()) {
            return Err(Failure::Path);
        }
        let headers = HeaderMap::from_iter([(HEADER, self.token.clone())]);
        let answer = self.client.get_with(&url, headers, CAP).await?;
        if !answer.status.is_success() {
            return Err(Failure::Status(answer.status));
        }
        Document::parse(&answer.body).ok_or(Failure::Json)
    }
}

fn value(document: &Result<Document, Failure>, reference: &Reference) -> Result<Secret, ResolveError> {
    let document = document.as_ref().map_err(|why| ResolveError::unreadable(reference, why.to_string()))?;
    let field = match reference {
        Reference::Vault { field, .. } => document.field(field),
        Reference::Env { .. } => None,
    };
    field.ok_or_else(|| ResolveError::unreadable(reference, "the document has no such field"))
}
