//! The `auth` block: who may call a channel.
//!
//! Types are those an ingress verifies with: presets and defaults are already applied.

mod parse;
mod presets;

use serde_json::Value;

use super::secret::SecretText;
use super::template::{HeaderField, SigningTemplate};

pub(super) use parse::parse;
pub(crate) use presets::sends_data_beside_others;

/// Who may call a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthConfig {
    /// Whoever knows a key.
    ApiKey(ApiKeyAuth),
    /// Whoever signs with a shared secret.
    Hmac(Box<HmacAuth>),
    /// Whoever holds a token.
    Jwt(Box<JwtAuth>),
}

/// Mode `api_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// Accepted keys, or references to them.
    pub keys: Vec<SecretText>,
    /// Header that carries the key.
    pub header: String,
    /// Scheme in front of the key; `None` when the whole value is the key.
    pub scheme: Option<String>,
}

/// Whether a text can arrive as the value of a header, or behind a scheme in one (RFC 9110, section 5.5): printable ASCII,
/// with blanks inside at most.
pub fn is_header_value(text: &str) -> bool {
    let is_bare = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_graphic());
    is_bare(text.bytes().next())
        && is_bare(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
}

/// Mode `hmac`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HmacAuth {
    /// An accepted secret, or a reference to it.
    pub secret: Option<SecretText>,
    /// More of them; one there is at least.
    pub secrets: Vec<SecretText>,
    /// Header that carries the signature.
    pub header: String,
    /// How the signature stands in it.
    pub form: SignatureForm,
    /// Hash of the HMAC.
    pub algorithm: HmacAlgorithm,
    /// What is signed.
    pub message: SigningTemplate,
    /// Encoding of the signature; hex, then base64 when absent.
    pub encoding: Option<SignatureEncoding>,
    /// Guard against replays.
    pub window: Option<ReplayWindow>,
}

/// How a signature stands in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureForm {
    /// Alone.
    Plain,
    /// Behind a prefix.
    Prefixed(String),
    /// As the value of this key of packed `k=v` pairs.
    Packed(String),
}

/// Hash of an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HmacAlgorithm {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// Encoding of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureEncoding {
    /// Hexadecimal digits of either case.
    Hex,
    /// Standard base64, padding optional.
    Base64,
    /// URL-safe base64, padding optional.
    Base64Url,
}

/// Which instants a signature is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayWindow {
    /// Where the signed instant stands, in seconds of the Unix time.
    pub timestamp: HeaderField,
    /// How far it may be from now, in seconds.
    pub tolerance_secs: u64,
}

/// Mode `jwt`.
#[derive(Clone, Debug, PartialEq)]
pub struct JwtAuth {
    /// Static verification keys.
    pub keys: Vec<JwtKey>,
    /// Address of a key set.
    pub jwks_url: Option<String>,
    /// Accepted algorithms, never empty.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Accepted issuers; empty when the field is absent, and nothing is checked.
    pub issuers: Vec<String>,
    /// Accepted audiences; empty when the field is absent, and nothing is checked.
    pub audiences: Vec<String>,
    /// Clock skew allowed, in seconds.
    pub leeway_secs: u64,
    /// Whether a token must expire.
    pub require_exp: bool,
    /// Whether a request needs a token at all.
    pub required: bool,
    /// Where the token is.
    pub source: TokenLocation,
    /// Longest token, in bytes.
    pub max_token_bytes: u64,
    /// Claims that reach the metadata; all when absent.
    pub claims_to_metadata: Option<Vec<String>>,
    /// Expression over the claims that must hold.
    pub authorization_logic: Option<Value>,
}

/// A static verification key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtKey {
    /// Algorithm the key is for.
    pub algorithm: JwtAlgorithm,
    /// Key material, or a reference to it.
    pub key: SecretText,
    /// Id of the key.
    pub kid: Option<String>,
    /// Encoding of the material of an HS key.
    pub encoding: KeyEncoding,
}

/// Encoding of a symmetric key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyEncoding {
    /// The bytes of the text.
    #[default]
    Utf8,
    /// Base64.
    Base64,
    /// Hexadecimal digits.
    Hex,
}

/// Where a token is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenLocation {
    /// In a header, behind a scheme if there is one.
    Header {
        /// Name of the header.
        header: String,
        /// Scheme in front of the token.
        scheme: Option<String>,
    },
    /// In a cookie.
    Cookie(String),
}

macro_rules! jwt_algorithms {
    ($($variant:ident = $name:literal,)*) => {
        /// Algorithm of a token's signature (RFC 7518, RFC 8037).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum JwtAlgorithm { $(#[doc = $name] $variant,)* }

        impl JwtAlgorithm {
            /// The name in the header of a token.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The algorithm of that name.
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
    /// Fewest bytes of a symmetric key; `None` for the other families.
    pub const fn min_key_bytes(self) -> Option<usize> {
        match self {
            Self::Hs256 => Some(32),
            Self::Hs384 => Some(48),
            Self::Hs512 => Some(64),
            _ => None,
        }
    }
}
