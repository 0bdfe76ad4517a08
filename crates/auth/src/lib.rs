//! Authentication of the callers of channels: API keys, signatures and tokens.
//!
//! An [`Authenticator`] is the loaded form of a channel's `auth` block, with references resolved and keys
//! validated and hashed. It verifies the [parts of a request](PresentedRequest) as received, and returns the
//! identity of the caller or a [`RefusalReason`]. Every comparison with a secret takes constant time. The
//! reason is only for metrics and traces; callers get the same text for every refusal, except for an expired
//! token.
//!
//! A [`RequestSigner`] makes the signatures of outgoing requests, in the forms that channels verify.
//!
//! The [`jwt`] module also serves workflows: it verifies and signs their tokens. [`verify_file`] checks the
//! detached signatures of packages.
//!
//! A [`SignIn`] is the loaded form of the block `oauth2_login`: it sends browsers to an identity provider and verifies what
//! comes back, over a [`ProviderAccess`].
//!
//! The crate keeps no state between requests, does no I/O and reads no clock: the current time and the
//! [consumers](ConsumerTable) come with the request, and key sets come from a [`KeySets`]. `authorization_logic` is an expression, which the channel
//! evaluates.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use svc_auth::{Authenticator, KeySet, KeySets, PresentedRequest};
//! use svc_model::ChannelConfig;
//! use svc_secrets::EnvironmentResolver;
//!
//! struct NoKeySets;
//!
//! impl KeySets for NoKeySets {
//!     fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
//!         Err(format!("{url} is unknown"))
//!     }
//! }
//!
//! let config = json!({"auth": {"mode": "api_key", "keys": ["env://ORDERS_KEY"]}});
//! let auth = ChannelConfig::parse(&config).unwrap().auth.unwrap();
//! let environment = EnvironmentResolver(|name: &str| (name == "ORDERS_KEY").then(|| "a-key-of-the-shop".to_owned()));
//! let authenticator = Authenticator::build(&auth, &environment, &NoKeySets)?;
//!
//! let headers = [("authorization".to_owned(), b"Bearer a-key-of-the-shop".to_vec())];
//! let request = PresentedRequest { headers: &headers, body: b"", now: 1_700_000_000, consumers: None };
//! let anonymous = PresentedRequest { headers: &[], ..request };
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! assert!(authenticator.authenticate(request).await.is_ok());
//! assert!(authenticator.authenticate(anonymous).await.is_err());
//! # });
//! # Ok::<(), String>(())
//! ```

mod api_key;
mod authenticator;
mod consumers;
mod hmac;
mod identity;
mod issuer;
pub mod jwt;
mod key_digest;
mod key_sets;
mod presented;
mod reason;
mod scheme;
mod secret_field;
mod sign_in;
mod signed_file;

pub use authenticator::Authenticator;
pub use consumers::{
    ConsumerApiKey, ConsumerIdentity, ConsumerRecord, ConsumerSigningKey, ConsumerTable, MAX_SIGNING_KEYS,
};
pub use hmac::{MissingSignedHeader, RequestSigner, UnsignedRequest, message_id};
pub use identity::{CredentialFingerprint, Identity};
pub use issuer::{DiscoveryError, IssuerDocument, MAX_ISSUER_DOCUMENT};
pub use key_sets::{Jwks, JwksError, KeySet, KeySets, MAX_CANDIDATES, MAX_KEYS};
pub use presented::PresentedRequest;
pub use reason::RefusalReason;
pub use sign_in::{
    IssuerAccess, MAX_PROVIDER_ANSWER, NoProviderAccess, ProviderAccess, ProviderAnswer, ProviderRequest,
    SignIn, SignInAdditions, SignInOutcome, SignInRedirect, SignInRefusal,
};
pub use signed_file::{
    FileKeyError, FileSigningKey, FileVerifyingKey, SignatureError, signature_path, verify_file,
};
