//! The `auth` block: authentication of the callers of a channel.
//!
//! The types hold the values that the ingress verifies with: presets and defaults are already applied.

mod parse;
mod presets;

use serde_json::Value;

use super::declare::{block, choice, positive};
use super::secret::SecretText;
use super::template::{HeaderField, SigningTemplate};
use crate::suggest::nearest;

pub use parse::is_issuer;
pub(super) use parse::{ConsumerSelectionKeys, HmacKeys, TokenSourceKeys, is_https_url};
pub(crate) use presets::sends_data_beside_others;
pub(in crate::config) use presets::{Preset, find as find_preset, names as preset_names};

/// The authentication mode of a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthConfig {
    /// Callers send a shared key.
    ApiKey(ApiKeyAuth),
    /// Callers sign the request with a shared secret.
    Hmac(Box<HmacAuth>),
    /// Callers send a JSON Web Token.
    Jwt(Box<JwtAuth>),
}

impl AuthConfig {
    /// Returns the consumers whom the channel accepts; `None` if it has keys of its own.
    pub fn consumers(&self) -> Option<&ConsumerSelection> {
        match self {
            Self::ApiKey(auth) => auth.consumers.as_ref(),
            Self::Hmac(auth) => auth.consumers.as_ref(),
            Self::Jwt(_) => None,
        }
    }
}

block! {
    form "mode" = "api_key", "this form of the block";
    /// Settings of mode `api_key`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ApiKeyAuth {
        /// accepted keys, literal or references; this or `consumers`
        pub keys: Vec<SecretText> = _ => ["k"], required(), or("consumers"), by(parse::api_keys), secret();
        /// the consumers whose keys are accepted, in place of `keys`
        pub consumers: Option<ConsumerSelection> => {"tags": ["gold"]};
        /// the header that carries the key
        pub header: String = "Authorization" => "x-api-key", by(parse::header);
        /// precedes the key; `Bearer` by default in `Authorization`, else none
        pub scheme: Option<String> => "Token", by(parse::api_key_scheme);
    }
}

/// Returns true if the text can be sent as a header value, or after a scheme in one (RFC 9110, section 5.5):
/// printable ASCII, with spaces and tabs only inside.
pub fn is_header_value(text: &str) -> bool {
    let is_bare = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_graphic());
    is_bare(text.bytes().next())
        && is_bare(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
}

/// The consumers whom a channel accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsumerSelection {
    /// Those with these names.
    Names(Vec<String>),
    /// Those with one of these tags.
    Tags(Vec<String>),
}

/// Settings of mode `hmac`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HmacAuth {
    /// An accepted secret, or a reference to it.
    pub secret: Option<SecretText>,
    /// Further accepted secrets. `secret` and `secrets` together hold at least one, unless consumers sign.
    pub secrets: Vec<SecretText>,
    /// The consumers who sign, in place of the secrets.
    pub consumers: Option<ConsumerSelection>,
    /// Name of the header that carries the signature.
    pub header: String,
    /// Format of the signature in the header.
    pub form: SignatureForm,
    /// Hash function of the HMAC.
    pub algorithm: HmacAlgorithm,
    /// Template of the signed message.
    pub message: SigningTemplate,
    /// Encoding of the signature; `None` accepts hex, then base64.
    pub encoding: Option<SignatureEncoding>,
    /// Protection against replayed requests.
    pub window: Option<ReplayWindow>,
}

/// The format of a signature in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureForm {
    /// The signature alone.
    Plain,
    /// The signature after this prefix.
    Prefixed(String),
    /// The value of this key in packed `k=v` pairs.
    Packed(String),
}

choice! {
    /// The hash function of an HMAC.
    pub enum HmacAlgorithm {
        /// SHA-1.
        Sha1 = "sha1",
        /// SHA-256.
        Sha256 = "sha256",
        /// SHA-512.
        Sha512 = "sha512",
    }
}

choice! {
    /// The encoding of a signature.
    pub enum SignatureEncoding {
        /// Hexadecimal digits of either case.
        Hex = "hex",
        /// Standard base64, padding optional.
        Base64 = "base64",
        /// URL-safe base64, padding optional.
        Base64Url = "base64url",
    }
}

/// The period in which a signed request is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayWindow {
    /// Header field with the signed Unix time, in seconds.
    pub timestamp: HeaderField,
    /// Maximum difference from the current time, in seconds.
    pub tolerance_secs: u64,
}

block! {
    form "mode" = "jwt", "this form of the block";
    /// Settings of mode `jwt`. The lists of issuers and audiences are empty if the claim is not checked.
    #[derive(Clone, Debug, PartialEq)]
    pub struct JwtAuth {
        /// accepted algorithms: HS, RS, PS with 256, 384, 512; ES256, ES384; EdDSA
        pub algorithms: Vec<JwtAlgorithm> => ["RS256"];
        /// the key set of an issuer, https only; without it and `jwt_keys` it is found by discovery, if `issuer` is one
        /// https address
        pub jwks_url: Option<String> =>
            "https://id.example/keys", required(), or("jwt_keys issuer"), by(parse::jwks_url);
        /// static keys
        pub keys as "jwt_keys": Vec<JwtKey> = _ =>
            [{"algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}];
        /// accepted `iss`; absent, it is not checked
        pub issuers as "issuer": Vec<String> = _ =>
            "https://id.example", kind("text or list"), by(parse::accepted_values);
        /// accepted `aud`; absent, it is not checked
        pub audiences as "audience": Vec<String> = _ =>
            ["orders"], kind("text or list"), by(parse::accepted_values);
        /// how far clocks may differ, at most 300
        pub leeway_secs: u64 = 30 => 10, by(parse::leeway);
        /// a token must expire
        pub require_exp: bool = true => false;
        /// a request must have a token; a wrong one is refused in any case
        pub required: bool = true => false;
        /// where the token is
        pub source: TokenLocation = _ =>
            {"cookie": "session"}, default(r#"{"header": "Authorization", "scheme": "Bearer"}"#);
        /// the longest token
        pub max_token_bytes: u64 = 8192 => 4096, by(positive);
        /// claims that reach `metadata.auth.claims`; all by default
        pub claims_to_metadata: Option<Vec<String>> => ["sub"];
        /// what the claims must fulfil, over `{claims}`; else 403
        pub authorization_logic: Option<Value> => {"in": ["orders", {"var": "claims.scope"}]};
    }
}

impl JwtAuth {
    /// Returns the issuer whose key set is found by discovery; `None` if the keys are given.
    pub fn discovered_issuer(&self) -> Option<&str> {
        let is_given = self.jwks_url.is_some() || !self.keys.is_empty();
        self.issuers.first().filter(|_| !is_given).map(String::as_str)
    }
}

block! {
    /// A static verification key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JwtKey {
        /// the one algorithm of the key
        pub algorithm: JwtAlgorithm => "HS256";
        /// a public key as PEM, or a secret of 32, 48 or 64 bytes at least; literal or a reference
        pub key: SecretText =>
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", by(parse::key_text), secret();
        /// the id that tokens name the key by
        pub kid: Option<String> => "2026-11";
        /// how a secret is written
        pub encoding as "key_encoding": KeyEncoding = "utf8" => "hex", by(parse::key_encoding);
    }
}

choice! {
    /// The encoding of a symmetric key.
    pub enum KeyEncoding {
        /// The UTF-8 bytes of the text.
        Utf8 = "utf8",
        /// Base64.
        Base64 = "base64",
        /// Hexadecimal digits.
        Hex = "hex",
    }
}

/// The place of a token in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenLocation {
    /// A header, optionally with a scheme in front of the token.
    Header {
        /// Name of the header.
        header: String,
        /// Scheme in front of the token; `None` if the token is the whole value.
        scheme: Option<String>,
    },
    /// The cookie of this name.
    Cookie(String),
}

impl Default for TokenLocation {
    fn default() -> Self {
        Self::Header { header: "Authorization".into(), scheme: Some("Bearer".into()) }
    }
}

macro_rules! jwt_algorithms {
    ($($variant:ident = $name:literal,)*) => {
        /// A signature algorithm of tokens (RFC 7518, RFC 8037).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum JwtAlgorithm { $(#[doc = $name] $variant,)* }

        impl JwtAlgorithm {
            /// All algorithms.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the `alg` value in the header of a token.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the algorithm of that name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

jwt_algorithms! {
    Hs256 = "HS256", Hs384 = "HS384", Hs512 = "HS512",
    Rs256 = "RS256", Rs384 = "RS384", Rs512 = "RS512",
    Ps256 = "PS256", Ps384 = "PS384", Ps512 = "PS512",
    Es256 = "ES256", Es384 = "ES384", EdDsa = "EdDSA",
}

impl JwtAlgorithm {
    /// Returns the algorithm that a wrong name was probably meant to be, of the same family: another one would need
    /// another kind of key.
    pub fn nearest(name: &str) -> Option<Self> {
        let family = |name: &str| name.chars().next().map(|first| first.to_ascii_uppercase());
        let related =
            Self::ALL.iter().map(|known| known.name()).filter(|known| family(known) == family(name));
        Self::parse(nearest(name, related)?)
    }

    /// Returns the problem of a name that no algorithm has, with the nearest name or else all names.
    pub fn describe_unknown(name: &str) -> String {
        match Self::nearest(name) {
            Some(meant) => format!("'{name}' is not supported, did you mean '{}'?", meant.name()),
            None => {
                let known: Vec<_> = Self::ALL.iter().map(|known| known.name()).collect();
                format!("'{name}' is not supported; use one of {}", known.join(", "))
            }
        }
    }

    /// Returns the minimum length of a symmetric key, in bytes; `None` for asymmetric algorithms.
    pub const fn min_key_bytes(self) -> Option<usize> {
        match self {
            Self::Hs256 => Some(32),
            Self::Hs384 => Some(48),
            Self::Hs512 => Some(64),
            _ => None,
        }
    }
}
