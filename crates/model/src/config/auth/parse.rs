//! Reads and validates the `auth` block.
//!
//! Rules that an author can break are checked here. Faults of resolved secrets and of the cryptography of a
//! key are detected when the channel is loaded.

use std::fmt;

use super::presets::{self, Preset};
use super::{
    ApiKeyAuth, AuthConfig, ConsumerSelection, HmacAlgorithm, HmacAuth, JwtAlgorithm, JwtAuth, JwtKey,
    KeyEncoding, ReplayWindow, SignatureEncoding, SignatureForm, TokenLocation, is_header_value,
};
use crate::config::block::ConfigBlock;
use crate::config::declare::{Choice, KeyValue, block};
use crate::config::request::is_cookie_name;
use crate::config::template::is_packed_key;
use crate::config::{HeaderField, SecretText, SigningTemplate};
use crate::field::FieldError;
use crate::http::token::is_token;
use crate::mask::{is_reserved_reference, is_secret_reference};

/// Path under which the problems of the block are reported.
const PATH: &str = "channel.config.auth";
/// Maximum clock skew that may be tolerated, in seconds.
const MAX_LEEWAY: u64 = 300;

/// Most names or tags of consumers that a channel lists.
const MAX_CONSUMER_WORDS: usize = 100;

type Read<T> = Result<Option<T>, FieldError>;

#[derive(Clone, Copy)]
enum Mode {
    ApiKey,
    Hmac,
    Jwt,
}

impl KeyValue for AuthConfig {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        block.block(name, parse)
    }
}

fn parse(block: &mut ConfigBlock<'_>) -> Result<AuthConfig, FieldError> {
    let modes = [("api_key", Mode::ApiKey), ("hmac", Mode::Hmac), ("jwt", Mode::Jwt)];
    match block.choice("mode", &modes)?.ok_or_else(|| block.missing("mode"))? {
        Mode::ApiKey => ApiKeyAuth::read(block).map(AuthConfig::ApiKey),
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

block! {
    /// The consumers whom a channel accepts, as they are written.
    pub(in crate::config) struct ConsumerSelectionKeys {
        /// their names; this or `tags`
        names: Option<Vec<String>> => ["acme"], by(consumer_words);
        /// tags, of which each has one; this or `names`
        tags: Option<Vec<String>> => ["gold"], by(consumer_words);
    }
}

impl KeyValue for ConsumerSelection {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        block.block(name, consumer_selection)
    }
}

fn consumer_selection(block: &mut ConfigBlock<'_>) -> Result<ConsumerSelection, FieldError> {
    match ConsumerSelectionKeys::read(block)? {
        ConsumerSelectionKeys { names: Some(names), tags: None } => Ok(ConsumerSelection::Names(names)),
        ConsumerSelectionKeys { names: None, tags: Some(tags) } => Ok(ConsumerSelection::Tags(tags)),
        ConsumerSelectionKeys { names: None, tags: None } => {
            Err(refused("consumers", " needs names or tags"))
        }
        _ => Err(refused("consumers", " takes names or tags, not both")),
    }
}

/// Reads the names or tags of consumers. An empty list would accept nobody.
fn consumer_words(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let words: Option<Vec<String>> = KeyValue::read(block, name)?;
    match &words {
        Some(words) if words.is_empty() => Err(refused(&format!("consumers.{name}"), " is empty")),
        Some(words) if words.len() > MAX_CONSUMER_WORDS => Err(refused(
            &format!("consumers.{name}"),
            format_args!(" has at most {MAX_CONSUMER_WORDS} entries"),
        )),
        Some(words) if words.iter().any(|word| word.trim().is_empty()) => {
            Err(refused(&format!("consumers.{name}"), " has a blank entry"))
        }
        _ => Ok(words),
    }
}

/// Reads the accepted keys, of which there is at least one unless consumers are accepted in their place.
pub(super) fn api_keys(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<SecretText>> {
    let has_consumers = block.any("consumers").is_some();
    let keys = secrets(block, name)?.unwrap_or_default();
    if has_consumers {
        return match keys.is_empty() {
            true => Ok(None),
            false => Err(refused("keys", " and auth.consumers exclude each other")),
        };
    }
    if keys.is_empty() {
        return Err(invalid("keys", "api_key mode needs at least one entry in auth.keys"));
    }
    let unusable = keys.iter().position(|key| !is_reference(key) && !is_header_value(key.expose()));
    if let Some(index) = unusable {
        return Err(refused(&format!("keys[{index}]"), " is no header value"));
    }
    Ok(Some(keys))
}

/// Reads the scheme in front of a key; its default depends on the header.
pub(super) fn api_key_scheme(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let header = block.string("header")?;
    let is_usual = header.is_none_or(|header| header.trim().eq_ignore_ascii_case("authorization"));
    auth_scheme(block.string(name)?, "scheme", is_usual.then(|| "Bearer".to_owned()))
}

block! {
    form "mode" = "hmac", "this form of the block";
    /// The keys of mode `hmac`, as they are written.
    pub(in crate::config) struct HmacKeys {
        /// the secret, literal or a reference; this, `secrets` or `consumers`
        secret: Option<SecretText> => "s", required(), or("secrets consumers"), secret();
        /// further secrets; any of them is accepted
        secrets: Vec<SecretText> = _ => ["s"], by(secrets), secret();
        /// the consumers who sign, in place of `secret` and `secrets`
        consumers: Option<ConsumerSelection> => {"tags": ["gold"]};
        /// a provider, see [Signatures](#signatures); keys given in addition go first
        preset: Option<String> => "github";
        /// the header that carries the signature
        header: Option<String> => "x-hub-signature", default("\"X-Signature\""), by(header);
        /// precedes the signature
        signature_prefix: Option<String> => "v1=";
        /// the key of the signature if the header is packed, `k=v,k=v`; not with `signature_prefix`
        signature_key: Option<String> => "v1";
        /// the hash
        algorithm: Option<HmacAlgorithm> => "sha512", default("\"sha256\""), by(hmac_algorithm);
        /// what is signed: `{body}`, `{header:<name>}`, `{header:<name>:<key>}` and literal text
        message: Option<String> => "{header:x-time}.{body}", default("\"{body}\"");
        /// the encoding of the signature; hex, then base64 is tried by default
        encoding: Option<SignatureEncoding> => "hex", by(signature_encoding);
        /// the place of the signed time, `<header>` or `<header>:<key>`; with `tolerance_secs`
        timestamp: Option<String> => "x-time";
        /// how far the signed time may be from now; with `timestamp`
        tolerance_secs: Option<i64> => 300;
    }
}

fn hmac(block: &mut ConfigBlock<'_>) -> Result<HmacAuth, FieldError> {
    let keys = HmacKeys::read(block)?;
    let has_secrets = keys.secret.is_some() || !keys.secrets.is_empty();
    if keys.secret.as_ref().is_some_and(SecretText::is_blank) || (!has_secrets && keys.consumers.is_none()) {
        return Err(invalid("secret", "hmac mode needs auth.secret or auth.secrets"));
    }
    if has_secrets && keys.consumers.is_some() {
        return Err(refused("consumers", " excludes auth.secret and auth.secrets"));
    }
    let preset = match &keys.preset {
        Some(name) => presets::find(name).ok_or_else(|| {
            invalid("preset", format!("unknown auth.preset '{name}'; known: {}", presets::names()))
        })?,
        None => Preset::NONE,
    };
    let or_preset = |own: Option<String>, preset: Option<&str>| own.or_else(|| preset.map(str::to_owned));
    let timestamp = or_preset(keys.timestamp, preset.timestamp);
    Ok(HmacAuth {
        secret: keys.secret,
        secrets: keys.secrets,
        consumers: keys.consumers,
        header: or_preset(keys.header, preset.header).unwrap_or_else(|| "X-Signature".into()),
        form: signature_form(
            or_preset(keys.signature_prefix, preset.prefix),
            or_preset(keys.signature_key, preset.packed),
        )?,
        algorithm: keys.algorithm.or(preset.algorithm).unwrap_or(HmacAlgorithm::Sha256),
        encoding: keys.encoding.or(preset.encoding),
        message: match keys.message.as_deref().or(preset.message) {
            None => SigningTemplate::default(),
            Some(text) => {
                SigningTemplate::parse(text).map_err(|why| refused("message", format_args!(": {why}")))?
            }
        },
        window: window(timestamp, keys.tolerance_secs.or(preset.tolerance_secs))?,
    })
}

fn hmac_algorithm(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<HmacAlgorithm> {
    word(block, name, HmacAlgorithm::WORDS, |other| {
        refused("algorithm", format_args!(" '{other}': use sha1, sha256 or sha512"))
    })
}

fn signature_encoding(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SignatureEncoding> {
    word(block, name, SignatureEncoding::WORDS, |other| {
        refused("encoding", format_args!(" '{other}': use hex, base64 or base64url"))
    })
}

/// Reads how a symmetric key is written.
pub(super) fn key_encoding(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<KeyEncoding> {
    let problem = block.invalid(name, "use utf8, base64 or hex");
    word(block, name, KeyEncoding::WORDS, |_| problem)
}

/// Reads one of some words, with a refusal of its own for any other.
fn word<T: Copy>(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
    words: &[(&str, T)],
    refuse: impl FnOnce(&str) -> FieldError,
) -> Read<T> {
    let Some(text) = block.string(name)? else { return Ok(None) };
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(Some(*value)),
        None => Err(refuse(&text)),
    }
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
    let auth = JwtAuth::read(block)?;
    if !auth.keys.is_empty() || auth.jwks_url.is_some() {
        return Ok(auth);
    }
    match auth.issuers.as_slice() {
        [] => Err(invalid("jwt_keys", "jwt mode needs auth.jwt_keys, auth.jwks_url or auth.issuer")),
        [issuer] if !is_issuer(issuer) => Err(refused("issuer", " has no query and no fragment")),
        [issuer] if is_https_url(issuer) => Ok(auth),
        [_] => Err(refused("issuer", " must start with https:// to find its keys; else give auth.jwks_url")),
        _ => Err(refused("issuer", " lists several issuers: give auth.jwks_url or auth.jwt_keys")),
    }
}

/// Reads the URL of a key set.
pub(super) fn jwks_url(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(url) if !is_https_url(&url) => Err(refused("jwks_url", " must start with https://")),
        url => Ok(url),
    }
}

/// Returns false for an address that no issuer has: its documents lie below it.
pub fn is_issuer(url: &str) -> bool {
    !url.contains(['?', '#'])
}

/// Returns true for a text that begins like an address over https.
pub(in crate::config) fn is_https_url(text: &str) -> bool {
    text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty())
}

/// Reads the tolerated clock skew.
pub(super) fn leeway(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    match block.unsigned(name)? {
        Some(seconds) if seconds > MAX_LEEWAY => {
            Err(refused("leeway_secs", format_args!(" is at most {MAX_LEEWAY}")))
        }
        seconds => Ok(seconds),
    }
}

/// Reads the accepted values of a claim. An author who writes the field wants the claim checked, so an empty
/// list is refused instead of disabling the check.
pub(super) fn accepted_values(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(values) = block.one_or_many(name)? else { return Ok(None) };
    if values.is_empty() {
        return Err(refused(name, " is empty"));
    }
    if values.iter().any(|value| value.trim().is_empty()) {
        return Err(refused(name, " has a blank entry"));
    }
    Ok(Some(values))
}

impl KeyValue for JwtAlgorithm {
    const KIND: &'static str = "text";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        let text = block.string(name)?;
        text.map(|text| {
            jwt_algorithm(&text, "jwt_keys").map_err(|error| error.with_member(block.field(name)))
        })
        .transpose()
    }
}

impl KeyValue for Vec<JwtAlgorithm> {
    const KIND: &'static str = "list of texts";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        let texts = block.strings(name)?.unwrap_or_default();
        if texts.is_empty() {
            return Err(invalid("algorithms", "jwt mode needs a non-empty auth.algorithms"));
        }
        texts.iter().map(|text| jwt_algorithm(text, "algorithms")).collect::<Result<_, _>>().map(Some)
    }
}

impl KeyValue for Vec<JwtKey> {
    const KIND: &'static str = "list of blocks";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        block.blocks(name, jwt_key)
    }
}

fn jwt_algorithm(name: &str, member: &str) -> Result<JwtAlgorithm, FieldError> {
    JwtAlgorithm::parse(name)
        .ok_or_else(|| refused(member, format_args!(": {}", JwtAlgorithm::describe_unknown(name))))
}

fn jwt_key(block: &mut ConfigBlock<'_>) -> Result<JwtKey, FieldError> {
    let key = JwtKey::read(block)?;
    literal_key(key.algorithm, key.encoding, &key.key).map_err(|why| block.invalid("key", why))?;
    Ok(key)
}

/// Reads the text of a static key.
pub(super) fn key_text(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SecretText> {
    let key = SecretText::new(block.string(name)?.unwrap_or_default());
    if key.is_blank() {
        Err(refused("jwt_keys", " has an empty key").with_member(block.field(name)))
    } else {
        Ok(Some(key))
    }
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

block! {
    /// The place of a token, as it is written.
    pub(in crate::config) struct TokenSourceKeys {
        /// a header; named alone it carries the bare token
        header: Option<String> => "x-token";
        /// precedes the token
        scheme: Option<String> => "Token";
        /// a cookie, instead of a header
        cookie: Option<String> => "session";
    }
}

impl KeyValue for TokenLocation {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        block.block(name, token_source)
    }
}

fn token_source(block: &mut ConfigBlock<'_>) -> Result<TokenLocation, FieldError> {
    let TokenSourceKeys { header, scheme, cookie } = TokenSourceKeys::read(block)?;
    match cookie {
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

fn secrets(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<SecretText>> {
    let entries: Option<Vec<_>> = KeyValue::read(block, name)?;
    if entries.iter().flatten().any(SecretText::is_blank) {
        return Err(refused(name, " has a blank entry"));
    }
    Ok(entries)
}

/// Reads the name of the header that carries a key or a signature.
pub(super) fn header(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    header_name(block.string(name)?, "header")
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
