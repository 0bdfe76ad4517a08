//! Client of the HTTP API of a server: credentials, time limits, retries, errors with their code and fields, paging.
//!
//! The address of the server is the choice of whoever runs the client, not of a stored definition. So this client,
//! unlike those of [`svc_outbound`], dials private addresses and uses the proxies of the environment; trust anchors and
//! TLS settings are the same. Redirects are not followed: they would carry the key to another host.
//!
//! A response is bytes, a [`Value`](serde_json::Value) whose members keep their order, or any type that deserialises.

#![warn(missing_docs)]

mod address;
mod api_error;
mod client;
mod credential;
mod error;
mod events;
mod local;
mod pages;
mod request;
mod response;
mod retry;
mod tls;

pub use address::ServerAddress;
pub use api_error::{ApiError, FieldProblem};
pub use client::{Client, ClientSettings};
pub use credential::ApiKey;
pub use error::ClientError;
pub use events::{EventStream, ServerEvent};
pub use local::{LocalAnswer, LocalRequest, LocalResponse, LocalServer};
pub use pages::{Pages, ResultPage};
pub use request::{ADMIN_BASE, ApiRequest, admin_path, path};
pub use reqwest::{Method, StatusCode};
pub use response::ApiResponse;
pub use retry::RetryPolicy;
pub use svc_outbound::{Trust, describe_cause, printable_json, printable_lines};
pub use tls::ClientIdentity;
