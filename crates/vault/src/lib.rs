//! Reads secret references: from the environment, from files, and from a secret store over HTTP.
//!
//! [`SecretProvider`] is the [`SecretSource`](svc_secrets::SecretSource) of a process. `env://NAME` is looked
//! up in the environment it was given. `file://<path>` is the content of a file that others cannot read.
//! `vault://<path>#<field>` is a field of the document at
//! `{VAULT_ADDR}/v1/<path>`, asked for with the token in `VAULT_TOKEN`; both versions of the key-value engine
//! of HashiCorp Vault and OpenBao answer it. Without these two variables such references are refused as not
//! usable here.
//!
//! Every load reads again: each document once for all of its fields, several at the same time, all of them
//! within a bounded time. Nothing is kept in between, so a value that was rotated is seen by the next load.
//! A failure names reference and cause; no text holds a value, the token or the response of the store.
//!
//! The address is the operator's choice and may be private; it is dialled by the one client of `svc-outbound`
//! all the same, which follows no redirect and trusts the system's certificates.

mod document;
mod provider;
mod secret_file;
mod vault_client;

pub use provider::{EnvironmentLookup, SecretProvider};
pub use secret_file::read_secret_file;
