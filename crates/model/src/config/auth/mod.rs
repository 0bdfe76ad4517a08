//! The `auth` block: authentication of the callers of a channel.
//!
//! The types hold the values that the ingress verifies with: presets and defaults are already applied.

mod parse;
mod presets;

use serde_json::Value;

use super::secret::SecretText;
use super::template::{HeaderField, SigningTemplate};
use crate::suggest::nearest;

pub(super) use parse::parse;
pub(crate) use presets::sends_data_beside_others;

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

/// Settings of mode `api_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// Accepted keys, or references to them.
    pub keys: Vec<SecretText>,
    /// Name of the header that carries the key.
    pub header: String,
    /// Scheme in front of the key; `None` if the key is the whole header value.
    pub scheme: Option<String>,
}

/// Returns true if the text can be sent as a header value, or after a scheme in one (RFC 9110, section 5.5):
/// printable ASCII, with spaces and tabs only inside.
pub fn is_header_value(text: &str) -> bool {
    let is_bare = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_graphic());
    is_bare(text.bytes().next())
        && is_bare(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
}

/// Settings of mode `hmac`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HmacAuth {
    /// An accepted secret, or a reference to it.
    pub secret: Option<SecretText>,
    /// Further accepted secrets. `secret` and `secrets` together hold at least one.
    pub secrets: Vec<SecretText>,
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

/// The hash function of an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HmacAlgorithm {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// The encoding of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureEncoding {
    /// Hexadecimal digits of either case.
    Hex,
    /// Standard base64, padding optional.
    Base64,
    /// URL-safe base64, padding optional.
    Base64Url,
}

/// The period in which a signed request is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayWindow {
    /// Header field with the signed Unix time, in seconds.
    pub timestamp: HeaderField,
    /// Maximum difference from the current time, in seconds.
    pub tolerance_secs: u64,
}

/// Settings of mode `jwt`.
#[derive(Clone, Debug, PartialEq)]
pub struct JwtAuth {
    /// Static verification keys.
    pub keys: Vec<JwtKey>,
    /// URL of a JSON Web Key Set.
    pub jwks_url: Option<String>,
    /// Accepted algorithms; never empty.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Accepted issuers; empty if the field is absent, which accepts any issuer.
    pub issuers: Vec<String>,
    /// Accepted audiences; empty if the field is absent, which accepts any audience.
    pub audiences: Vec<String>,
    /// Tolerated clock skew, in seconds.
    pub leeway_secs: u64,
    /// True if a token without `exp` is refused.
    pub require_exp: bool,
    /// True if a request without a token is refused.
    pub required: bool,
    /// The place of the token in the request.
    pub source: TokenLocation,
    /// Maximum length of a token, in bytes.
    pub max_token_bytes: u64,
    /// Claims that are copied to the metadata; `None` copies all.
    pub claims_to_metadata: Option<Vec<String>>,
    /// Expression over the claims that must be true for the request to be accepted.
    pub authorization_logic: Option<Value>,
}

/// A static verification key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtKey {
    /// The algorithm that the key verifies.
    pub algorithm: JwtAlgorithm,
    /// The key material, or a reference to it.
    pub key: SecretText,
    /// The key id (`kid`).
    pub kid: Option<String>,
    /// Encoding of the material of an HMAC key.
    pub encoding: KeyEncoding,
}

/// The encoding of a symmetric key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyEncoding {
    /// The UTF-8 bytes of the text.
    #[default]
    Utf8,
    /// Base64.
    Base64,
    /// Hexadecimal digits.
    Hex,
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
