//! HTTP clients that dial only checked addresses.
//!
//! An author who can write a URL into a definition could make the service talk to systems that only the service
//! can reach: the machine itself, its network, the metadata service of its cloud. So every outbound client comes from
//! [`Outbound`]. A literal address is checked when a URL is read and again before each request; a name is
//! checked when it is resolved, inside the client: **the address that is dialled is the address that was
//! checked**, and a name that answers once with a public address and then with another gains nothing. One
//! forbidden address refuses all that a name resolves to. Only a [`PeerClient`] follows redirects, and checks
//! each like a first request; proxies of the environment are not used. Either would choose an unchecked address.
//!
//! Certificates are verified against the system's trust anchors, or those that `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` name.
//!
//! This crate keeps pooled connections and nothing else. A connection belongs to the runtime its request was
//! made on.

mod address;
mod anchored_certificate;
mod cause;
mod client;
mod content_encoding;
mod error;
mod peer;
mod printable;
mod ranges;
mod resolver;
mod retry_after;
mod trust;

pub use address::{AddressError, PeerUrl, check_host, check_peer_url, check_url, key_set_url};
pub use anchored_certificate::CertificateChecks;
pub use cause::describe_cause;
pub use client::{ClientOptions, Outbound, OutboundClient, OutboundResponse};
pub use content_encoding::{DecodeError, decode_encodings};
pub use error::{FetchError, SetupError};
pub use peer::{HttpsUrls, PeerClient, PeerPool, PeerRequest, PeerResponse, RequestBody};
pub use printable::{PrintableWriter, printable, printable_json, printable_lines, printable_part};
pub use ranges::is_public;
pub use reqwest::header;
pub use reqwest::{Method, StatusCode};
pub use trust::Trust;
pub use url::Url;
