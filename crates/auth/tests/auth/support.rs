//! Helpers: requests and authenticators.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::{Value, json};
use svc_auth::{Authenticator, Identity, KeySet, KeySets, PresentedRequest, RefusalReason};
use svc_model::ChannelConfig;
use svc_secrets::EnvironmentResolver;

/// A request that owns its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SignedRequest {
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) now: i64,
}

impl SignedRequest {
    pub(crate) fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { headers: Vec::new(), body: body.into(), now: 1_700_000_000 }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    pub(crate) fn header_mut(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.headers.iter_mut().find(|(known, _)| known == name).unwrap().1
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }
}

/// Key sets without any issuer.
struct NoKeySets;

impl KeySets for NoKeySets {
    fn key_set(&self, url: &str) -> Result<std::sync::Arc<dyn KeySet>, String> {
        Err(format!("{url} is unknown here"))
    }
}

/// Builds an `auth` block. In its environment, `SET` is `value`, `EMPTY` is empty, `BLANK` is blank, and
/// `LINE` and `ACCENT` cannot be sent in a header.
pub(crate) fn build(auth: &Value) -> Result<Authenticator, String> {
    let config = ChannelConfig::parse(&json!({"auth": auth})).unwrap().auth.unwrap();
    let environment = EnvironmentResolver(|name: &str| match name {
        "SET" => Some("value".to_owned()),
        "EMPTY" => Some(String::new()),
        "BLANK" => Some(" \n".to_owned()),
        "LINE" => Some("value\n".to_owned()),
        "ACCENT" => Some("val\u{e9}".to_owned()),
        _ => None,
    });
    Authenticator::build(&config, &environment, &NoKeySets)
}

pub(crate) fn authenticator(auth: &Value) -> Authenticator {
    build(auth).unwrap()
}

/// Returns the result for a request. It must be available at once, because nothing waits without key sets.
pub(crate) fn verdict(
    authenticator: &Authenticator,
    request: &SignedRequest,
) -> Result<Identity, RefusalReason> {
    let presented = PresentedRequest {
        headers: &request.headers,
        body: &request.body,
        now: request.now,
        consumers: None,
    };
    authenticator.authenticate(presented).now_or_never().unwrap()
}

/// Returns the number of mutations: `SVC_FUZZ_REQUESTS`, or else `default`.
pub(crate) fn fuzz_count(default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the length of the run is asked for from outside")]
    std::env::var("SVC_FUZZ_REQUESTS").map_or(default, |count| count.parse().unwrap())
}

/// Returns a block with additional fields.
pub(crate) fn merge(base: &Value, more: &Value) -> Value {
    let mut base = base.clone();
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

/// Signed requests from one origin.
#[derive(Deserialize)]
pub(crate) struct Golden {
    pub(crate) origin: String,
    /// The `auth` block without mode and secret.
    pub(crate) config: Value,
    pub(crate) vectors: Vec<Vector>,
}

/// A signed request.
#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) secret: String,
    now: i64,
    headers: BTreeMap<String, String>,
    body: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    Text(String),
    Hex(String),
    Repeat(String, usize),
}

impl Golden {
    /// Returns the content of every file with its name.
    pub(crate) fn all() -> Vec<(String, Self)> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let golden = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
                (path.file_stem().unwrap().to_str().unwrap().to_owned(), golden)
            })
            .collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        files
    }

    /// Returns the `auth` block with a secret.
    pub(crate) fn auth(&self, secret: &str) -> Value {
        merge(&self.config, &json!({"mode": "hmac", "secret": secret}))
    }

    /// Returns the signature header, and the number of characters at its end that form the signature.
    pub(crate) fn signature(&self) -> (&str, usize) {
        match self.config["preset"].as_str() {
            Some("zoom") => ("x-zm-signature", 64),
            Some("slack") => ("x-slack-signature", 64),
            Some("stripe") => ("stripe-signature", 64),
            Some("github") => ("x-hub-signature-256", 64),
            Some("shopify") => ("x-shopify-hmac-sha256", 44),
            Some("webex") => ("x-spark-signature", 40),
            _ => (self.config["header"].as_str().unwrap(), 44),
        }
    }

    /// Returns true if a signature is valid for a limited time.
    pub(crate) fn has_window(&self) -> bool {
        let preset = self.config["preset"].as_str();
        preset.is_none_or(|name| ["zoom", "slack", "stripe"].contains(&name))
    }
}

impl Vector {
    pub(crate) fn request(&self) -> SignedRequest {
        let body = match &self.body {
            Body::Text(text) => text.clone().into_bytes(),
            Body::Hex(digits) => hex::decode(digits).unwrap(),
            Body::Repeat(text, times) => text.repeat(*times).into_bytes(),
        };
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes()));
        SignedRequest { headers: headers.collect(), body, now: self.now }
    }
}
