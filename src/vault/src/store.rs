//! The source of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use svc_outbound::header::{HeaderMap, HeaderName, HeaderValue};
use svc_outbound::{Client, ClientOptions, FetchError, Outbound, SetupError, StatusCode, Url, check_url};
use svc_secrets::{Reading, Readings, Reference, ResolveError, Resolver, Secret, Source};
use tokio::runtime::Handle;

use crate::document::Document;

/// Where the store is.
const ADDRESS: &str = "VAULT_ADDR";
/// What opens it.
const TOKEN: &str = "VAULT_TOKEN";
/// The header that carries the token.
const HEADER: HeaderName = HeaderName::from_static("x-vault-token");

/// For one document, from the dial to the last byte.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest document that is read, in bytes.
const CAP: usize = 1024 * 1024;
/// Documents asked for at the same time.
const AT_ONCE: usize = 16;

/// A lookup in the environment of the process.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Reads references. Keeps pooled connections, and nothing of what it read.
pub struct SecretStore {
    environment: Environment,
    client: Client,
    runtime: Handle,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore").finish_non_exhaustive()
    }
}

impl SecretStore {
    /// `runtime` drives the connections, whoever asks.
    ///
    /// # Errors
    /// When no client can be set up.
    pub fn new(environment: Environment, outbound: &Outbound, runtime: Handle) -> Result<Self, SetupError> {
        let client = outbound.client(ClientOptions { allow_private: true, timeout: TIMEOUT })?;
        Ok(Self { environment, client, runtime })
    }

    /// The store that the environment names. Read for every load, as everything is.
    fn server(&self) -> Result<Server, Unusable> {
        let variable = |name| (self.environment)(name).filter(|value| !value.is_empty());
        let (Some(address), Some(token)) = (variable(ADDRESS), variable(TOKEN)) else {
            return Err(Unusable::Absent);
        };
        let base = format!("{}/v1/", address.trim_end_matches('/'));
        // Its own texts name no credential.
        let url = check_url(&base, true).map_err(|error| Unusable::Address(error.to_string()))?;
        let mut token = HeaderValue::from_str(&token).map_err(|_| Unusable::Token)?;
        token.set_sensitive(true);
        Ok(Server { client: self.client.clone(), base: url, token })
    }
}

impl Source for SecretStore {
    fn read(&self, wanted: BTreeSet<Reference>) -> Reading {
        let variables = svc_secrets::Environment(|name: &str| (self.environment)(name));
        let mut readings = Readings::default();
        let mut documents = Documents::new();
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
        let server = match self.server() {
            Ok(server) => server,
            Err(why) => {
                readings.extend(each(documents, |reference| Err(why.of(reference))));
                return Box::pin(std::future::ready(readings));
            }
        };
        let reading = self.runtime.spawn(server.read(documents.clone()));
        Box::pin(async move {
            match reading.await {
                Ok(read) => readings.extend(read),
                Err(_) => {
                    let crashed =
                        |reference: &_| ResolveError::unreadable(reference, "reading it failed unexpectedly");
                    readings.extend(each(documents, |reference| Err(crashed(reference))));
                }
            }
            readings
        })
    }
}

/// The fields wanted of each document, by the path of the document.
type Documents = BTreeMap<String, Vec<String>>;

type Read = (Reference, Result<Secret, ResolveError>);

/// What a reference to each field stands for.
fn each(
    documents: Documents,
    value: impl Fn(&Reference) -> Result<Secret, ResolveError>,
) -> impl Iterator<Item = Read> {
    let references = documents.into_iter().flat_map(|(path, fields)| {
        fields.into_iter().map(move |field| Reference::Vault { path: path.clone(), field })
    });
    references.map(move |reference| {
        let value = value(&reference);
        (reference, value)
    })
}

/// Why there is no store to ask.
enum Unusable {
    Absent,
    Address(String),
    Token,
}

impl Unusable {
    fn of(&self, reference: &Reference) -> ResolveError {
        let cause = match self {
            Self::Absent => {
                return ResolveError::NotUsable {
                    reference: reference.clone(),
                    reason: "VAULT_ADDR and VAULT_TOKEN are not both set",
                };
            }
            Self::Address(why) => format!("{ADDRESS}: {why}"),
            Self::Token => format!("{TOKEN} is no header value"),
        };
        ResolveError::unreadable(reference, cause)
    }
}

/// A store that can be asked.
struct Server {
    client: Client,
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
    /// Another document of the same load waited in vain.
    #[error("the secret store does not answer")]
    Silent,
}

impl Server {
    /// Reads documents, each once. A store that let one wait too long is not asked for those that are left, so that a
    /// load is not held up again and again.
    async fn read(self, documents: Documents) -> Vec<Read> {
        let silent = &AtomicBool::new(false);
        let server = &self;
        let read = futures_util::stream::iter(documents).map(|(path, fields)| async move {
            let document = match silent.load(Ordering::Relaxed) {
                true => Err(Failure::Silent),
                false => server.document(&path).await,
            };
            if let Err(Failure::Fetch(FetchError::Timeout { .. })) = &document {
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
