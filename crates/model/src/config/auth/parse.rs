//! Reads and validates the `auth` block.
//!
//! Rules that an author can break are checked here. Faults of resolved secrets and of the cryptography of a
//! key are detected when the channel is loaded.

use std::fmt;

use super::presets::{self, Preset};
use super::{
    ApiKeyAuth, AuthConfig, HmacAlgorithm, HmacAuth, JwtAlgorithm, JwtAuth, JwtKey, KeyEncoding,
    ReplayWindow, SignatureEncoding, SignatureForm, TokenLocation, is_header_value,
};
use crate::config::block::ConfigBlock;
use crate::config::guards::is_token;
use crate::config::request::is_cookie_name;
use crate::config::template::is_packed_key;
use crate::config::{HeaderField, SecretText, SigningTemplate};
use crate::field::FieldError;
use crate::mask::{is_reserved_reference, is_secret_reference};

/// Path under which the problems of the block are reported.
const PATH: &str = "channel.config.auth";
/// Maximum clock skew that may be tolerated, in seconds.
const MAX_LEEWAY: u64 = 300;

#[derive(Clone, Copy)]
enum Mode {
    ApiKey,
    Hmac,
    Jwt,
}

pub(in crate::config) fn parse(block: &mut ConfigBlock<'_>) -> Result<AuthConfig, FieldError> {
    let modes = [("api_key", Mode::ApiKey), ("hmac", Mode::Hmac), ("jwt", Mode::Jwt)];
    match block.choice("mode", &modes)?.ok_or_else(|| block.missing("mode"))? {
        Mode::ApiKey => api_key(block).map(AuthConfig::ApiKey),
        Mode::Hmac => hmac(block).map(|auth| AuthConfig::Hmac(Box::new(auth))),
        Mode::Jwt => jwt(block).map(|auth| AuthConfig::Jwt(Box::new(auth))),
    }
}

/// Refuses a member: the message begins with its name, `auth.…`. `why` goes on after it.
fn refused(member: &str, why: impl fmt::Display) -> FieldError {
    invalid(member, format!("auth.{member}{why}"))
}

/// Refuses the block for a member of it.
fn invalid(member: &str, message: impl Into<String>) -> FieldError {
    FieldError::invalid(PATH, message).with_member(format!("{PATH}.{member}"))
}

fn api_key(block: &mut ConfigBlock<'_>) -> Result<ApiKeyAuth, FieldError> {
    let keys = secrets(block, "keys")?;
    if keys.is_empty() {
        return Err(invalid("keys", "api_key mode needs at least one entry in auth.keys"));
    }
    let unusable = keys.iter().position(|key| !is_reference(key) && !is_header_value(key.expose()));
    if let Some(index) = unusable {
        return Err(refused(&format!("keys[{index}]"), " is no header value"));
    }
    let header = block.string("header")?;
    let scheme = block.string("scheme")?;
    let header = header_name(header, "header")?.unwrap_or_else(|| "Authorization".into());
    let default = header.eq_ignore_ascii_case("authorization").then(|| "Bearer".to_owned());
    Ok(ApiKeyAuth { keys, scheme: auth_scheme(scheme, "scheme", default)?, header })
}

fn hmac(block: &mut ConfigBlock<'_>) -> Result<HmacAuth, FieldError> {
    let secret = block.string("secret")?.map(SecretText::new);
    let more = secrets(block, "secrets")?;
    let named = block.string("preset")?;
    let header = block.string("header")?;
    let prefix = block.string("signature_prefix")?;
    let packed = block.string("signature_key")?;
    let algorithm = block.string("algorithm")?;
    let encoding = block.string("encoding")?;
    let message = block.string("message")?;
    let timestamp = block.string("timestamp")?;
    let tolerance = block.signed("tolerance_secs")?;

    if secret.as_ref().is_some_and(SecretText::is_blank) || (secret.is_none() && more.is_empty()) {
        return Err(invalid("secret", "hmac mode needs auth.secret or auth.secrets"));
    }
    let preset = match &named {
        Some(name) => presets::find(name).ok_or_else(|| {
            invalid("preset", format!("unknown auth.preset '{name}'; known: {}", presets::names()))
        })?,
        None => Preset::NONE,
    };
    let or_preset = |own: Option<String>, preset: Option<&str>| own.or_else(|| preset.map(str::to_owned));
    let header = header_name(header, "header")?;
    let timestamp = or_preset(timestamp, preset.timestamp);
    Ok(HmacAuth {
        secret,
        secrets: more,
        header: or_preset(header, preset.header).unwrap_or_else(|| "X-Signature".into()),
        form: signature_form(or_preset(prefix, preset.prefix), or_preset(packed, preset.packed))?,
        algorithm: match algorithm.as_deref().or(preset.algorithm) {
            None | Some("sha256") => HmacAlgorithm::Sha256,
            Some("sha1") => HmacAlgorithm::Sha1,
            Some("sha512") => HmacAlgorithm::Sha512,
            Some(other) => {
                return Err(refused("algorithm", format_args!(" '{other}': use sha1, sha256 or sha512")));
            }
        },
        encoding: match encoding.as_deref().or(preset.encoding) {
            None => None,
            Some("hex") => Some(SignatureEncoding::Hex),
            Some("base64") => Some(SignatureEncoding::Base64),
            Some("base64url") => Some(SignatureEncoding::Base64Url),
            Some(other) => {
                return Err(refused("encoding", format_args!(" '{other}': use hex, base64 or base64url")));
            }
        },
        message: match message.as_deref().or(preset.message) {
            None => SigningTemplate::default(),
            Some(text) => {
                SigningTemplate::parse(text).map_err(|why| refused("message", format_args!(": {why}")))?
            }
        },
        window: window(timestamp, tolerance.or(preset.tolerance_secs))?,
    })
}

fn signature_form(prefix: Option<String>, packed: Option<String>) -> Result<SignatureForm, FieldError> {
    match (prefix, packed) {
        (Some(_), Some(_)) => Err(refused("signature_prefix", " and auth.signature_key exclude each other")),
        (Some(prefix), None) => Ok(SignatureForm::Prefixed(prefix)),
        (None, Some(key)) if key.trim().is_empty() => Err(refused("signature_key", " is blank")),
        (None, Some(key)) if is_packed_key(&key) => Ok(SignatureForm::Packed(key)),
        (None, Some(_)) => Err(refused("signature_key", " is no key of a packed header")),
        (None, None) => Ok(SignatureForm::Plain),
    }
}

fn window(timestamp: Option<String>, tolerance: Option<i64>) -> Result<Option<ReplayWindow>, FieldError> {
    let (timestamp, tolerance) = match (timestamp, tolerance) {
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(refused("timestamp", " needs auth.tolerance_secs")),
        (None, Some(_)) => return Err(refused("tolerance_secs", " needs auth.timestamp")),
        (Some(timestamp), Some(tolerance)) => (timestamp, tolerance),
    };
    let tolerance_secs = match u64::try_from(tolerance) {
        Ok(seconds @ 1..) => seconds,
        _ => return Err(refused("tolerance_secs", " must be positive")),
    };
    let timestamp = HeaderField::parse(&timestamp)
        .ok_or_else(|| refused("timestamp", " must be <header> or <header>:<key>"))?;
    Ok(Some(ReplayWindow { timestamp, tolerance_secs }))
}

fn jwt(block: &mut ConfigBlock<'_>) -> Result<JwtAuth, FieldError> {
    let keys = block.blocks("jwt_keys", jwt_key)?.unwrap_or_default();
    let jwks_url = block.string("jwks_url")?;
    let algorithms = block.strings("algorithms")?.unwrap_or_default();
    let issuers = accepted_values(block, "issuer")?;
    let audiences = accepted_values(block, "audience")?;
    let leeway_secs = block.unsigned("leeway_secs")?.unwrap_or(30);
    let require_exp = block.boolean("require_exp")?.unwrap_or(true);
    let required = block.boolean("required")?.unwrap_or(true);
    let source = block.block("source", token_source)?;
    let max_token_bytes = block.positive("max_token_bytes")?.unwrap_or(8192);
    let claims_to_metadata = block.strings("claims_to_metadata")?;
    let authorization_logic = block.any("authorization_logic");

    if algorithms.is_empty() {
        return Err(invalid("algorithms", "jwt mode needs a non-empty auth.algorithms"));
    }
    let algorithms =
        algorithms.iter().map(|name| jwt_algorithm(name, "algorithms")).collect::<Result<_, _>>()?;
    if keys.is_empty() && jwks_url.is_none() {
        return Err(invalid("jwt_keys", "jwt mode needs auth.jwt_keys or auth.jwks_url"));
    }
    if jwks_url.as_ref().is_some_and(|url| url.len() <= 8 || !url.starts_with("https://")) {
        return Err(refused("jwks_url", " must start with https://"));
    }
    if leeway_secs > MAX_LEEWAY {
        return Err(refused("leeway_secs", format_args!(" is at most {MAX_LEEWAY}")));
    }
    Ok(JwtAuth {
        keys,
        jwks_url,
        algorithms,
        issuers,
        audiences,
        leeway_secs,
        require_exp,
        required,
        source: source.unwrap_or_else(|| TokenLocation::Header {
            header: "Authorization".into(),
            scheme: Some("Bearer".into()),
        }),
        max_token_bytes,
        claims_to_metadata,
        authorization_logic,
    })
}

/// Reads the accepted values of a claim. An author who writes the field wants the claim checked, so an empty
/// list is refused instead of disabling the check.
fn accepted_values(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Vec<String>, FieldError> {
    let Some(values) = block.one_or_many(name)? else { return Ok(Vec::new()) };
    if values.is_empty() {
        return Err(refused(name, " is empty"));
    }
    if values.iter().any(|value| value.trim().is_empty()) {
        return Err(refused(name, " has a blank entry"));
    }
    Ok(values)
}

fn jwt_algorithm(name: &str, member: &str) -> Result<JwtAlgorithm, FieldError> {
    JwtAlgorithm::parse(name)
        .ok_or_else(|| refused(member, format_args!(": {}", JwtAlgorithm::describe_unknown(name))))
}

fn jwt_key(block: &mut ConfigBlock<'_>) -> Result<JwtKey, FieldError> {
    let algorithm = block.required_string("algorithm")?;
    let key = SecretText::new(block.string("key")?.unwrap_or_default());
    let kid = block.string("kid")?;
    let encoding = block.string("key_encoding")?;
    if key.is_blank() {
        return Err(refused("jwt_keys", " has an empty key").with_member(block.field("key")));
    }
    let algorithm =
        jwt_algorithm(&algorithm, "jwt_keys").map_err(|error| error.with_member(block.field("algorithm")))?;
    let encoding = match encoding.as_deref() {
        None | Some("utf8") => KeyEncoding::Utf8,
        Some("base64") => KeyEncoding::Base64,
        Some("hex") => KeyEncoding::Hex,
        Some(_) => return Err(block.invalid("key_encoding", "use utf8, base64 or hex")),
    };
    literal_key(algorithm, encoding, &key).map_err(|why| block.invalid("key", why))?;
    Ok(JwtKey { algorithm, key, kid, encoding })
}

/// Returns true if the value is a reference, whose target is unknown here.
fn is_reference(secret: &SecretText) -> bool {
    is_secret_reference(secret.expose()) || is_reserved_reference(secret.expose())
}

/// Checks the text of a literal key as far as possible without cryptography.
fn literal_key(algorithm: JwtAlgorithm, encoding: KeyEncoding, key: &SecretText) -> Result<(), String> {
    if is_reference(key) {
        return Ok(());
    }
    let text = key.expose();
    let Some(least) = algorithm.min_key_bytes() else {
        let pem = text.trim_start().starts_with("-----BEGIN ") && !text.contains("PRIVATE KEY");
        return if pem { Ok(()) } else { Err(format!("{} needs a public key in PEM", algorithm.name())) };
    };
    let length = match encoding {
        KeyEncoding::Utf8 => text.len(),
        KeyEncoding::Hex => hex::decode(text.trim()).map_err(|_| "this is not hexadecimal".to_owned())?.len(),
        KeyEncoding::Base64 => text.trim().trim_end_matches('=').len() * 3 / 4,
    };
    if length < least {
        return Err(format!("{} needs a key of at least {least} bytes", algorithm.name()));
    }
    Ok(())
}

fn token_source(block: &mut ConfigBlock<'_>) -> Result<TokenLocation, FieldError> {
    let header = block.string("header")?;
    let scheme = block.string("scheme")?;
    match block.string("cookie")? {
        Some(_) if header.is_some() || scheme.is_some() => {
            Err(refused("source", " takes a header or a cookie, not both"))
        }
        Some(cookie) if cookie.trim().is_empty() => Err(refused("source.cookie", " is blank")),
        Some(cookie) if is_cookie_name(&cookie) => Ok(TokenLocation::Cookie(cookie)),
        Some(_) => Err(refused("source.cookie", " is no cookie name")),
        None => {
            let explicit = header_name(header, "source.header")?;
            // An explicit header carries the bare token unless a scheme is also given.
            let default = explicit.is_none().then(|| "Bearer".to_owned());
            Ok(TokenLocation::Header {
                header: explicit.unwrap_or_else(|| "Authorization".into()),
                scheme: auth_scheme(scheme, "source.scheme", default)?,
            })
        }
    }
}

fn secrets(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Vec<SecretText>, FieldError> {
    let entries: Vec<_> = block.strings(name)?.unwrap_or_default().into_iter().map(SecretText::new).collect();
    if entries.iter().any(SecretText::is_blank) {
        return Err(refused(name, " has a blank entry"));
    }
    Ok(entries)
}

fn header_name(header: Option<String>, member: &str) -> Result<Option<String>, FieldError> {
    match header.as_deref().map(str::trim) {
        None => Ok(None),
        Some("") => Err(refused(member, " is blank")),
        Some(name) if is_token(name) => Ok(Some(name.to_owned())),
        Some(_) => Err(refused(member, " is no header name")),
    }
}

/// Trims a scheme; an empty one means that there is no scheme.
fn auth_scheme(
    scheme: Option<String>,
    member: &str,
    default: Option<String>,
) -> Result<Option<String>, FieldError> {
    match scheme.as_deref().map(str::trim) {
        None => Ok(default),
        Some("") => Ok(None),
        Some(name) if is_token(name) => Ok(Some(name.to_owned())),
        Some(_) => Err(refused(member, " is no authentication scheme")),
    }
}
