//! The `sign` block of an http connector: the signature of outgoing requests, in the forms that channels verify.

use super::fields::open_choice;
use super::headers::check_header;
use super::unresolved::is_unresolved;
use crate::config::auth::{
    HmacAlgorithm, Preset, SignatureEncoding, SignatureForm, find_preset, preset_names,
};
use crate::config::block::ConfigBlock;
use crate::config::declare::{KeyValue, block};
use crate::config::key_reference::{BlockReference, block};
use crate::config::template::is_packed_key;
use crate::config::{HeaderField, SecretText, SigningTemplate};
use crate::field::FieldError;

/// The block in the reference.
pub(super) const SIGN: BlockReference = block("sign", SignKeys::KEYS);

/// The preset of [Standard Webhooks](https://www.standardwebhooks.com).
const STANDARD_WEBHOOKS: &str = "standard_webhooks";

/// The header of a signature without a preset, as channels have it.
const HEADER: &str = "X-Signature";

/// The signature of outgoing requests: presets and defaults are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningConfig {
    /// The secrets or references to them; each gives a signature.
    pub secrets: Vec<SecretText>,
    /// The secrets are those of Standard Webhooks: `whsec_` and the key in base64.
    pub is_standard: bool,
    /// Name of the header that carries the signatures.
    pub header: String,
    /// Format of a signature in the header.
    pub form: SignatureForm,
    /// Hash function of the HMAC.
    pub algorithm: HmacAlgorithm,
    /// Template of the signed message.
    pub message: SigningTemplate,
    /// Encoding of a signature.
    pub encoding: SignatureEncoding,
    /// Place of the Unix time of the attempt, in seconds.
    pub timestamp: Option<HeaderField>,
    /// Name of the header that carries the id of the message.
    pub id: Option<String>,
}

block! {
    /// The keys of `sign`, as they are written.
    struct SignKeys {
        /// the secret, literal or a reference; this or `secrets`
        secret: Option<SecretText> => "env://SIGNING_SECRET", required(), or("secrets"), secret();
        /// further secrets; each gives a signature, so that receivers can change theirs
        secrets: Vec<SecretText> = _ => ["env://SIGNING_SECRET"], secret();
        /// a form of signatures by its name, as channels have them; keys given in addition go first
        preset: Option<String> => "github";
        /// the header that carries the signature
        header: Option<String> => "x-hub-signature", default("\"X-Signature\"");
        /// precedes a signature
        signature_prefix: Option<String> => "v1=";
        /// the key of the signature if the header is packed, `k=v,k=v`; not with `signature_prefix`
        signature_key: Option<String> => "v1";
        /// the hash
        algorithm: Option<HmacAlgorithm> => "sha512", default("\"sha256\""), by(open_choice);
        /// the signed message: `{body}`, `{header:<name>}`, `{header:<name>:<key>}` and literal text
        message: Option<String> => "{header:x-time}.{body}", default("\"{body}\"");
        /// the encoding of the signature
        encoding: Option<SignatureEncoding> => "base64", default("\"hex\""), by(open_choice);
        /// the place of the time of the attempt, `<header>` or `<header>:<key>`
        timestamp: Option<String> => "x-time";
        /// the header with the id of the message, which is the same at every attempt
        id: Option<String> => "x-message-id";
    }
}

impl SigningConfig {
    /// Returns the signature of [Standard Webhooks](https://www.standardwebhooks.com) with these secrets.
    ///
    /// # Errors
    /// The problem of the built-in form; there is none.
    pub fn standard_webhooks(secrets: Vec<SecretText>) -> Result<Self, String> {
        let value = serde_json::json!({"preset": STANDARD_WEBHOOKS});
        let mut block = ConfigBlock::open(None, "sign".to_owned(), &value).map_err(|error| error.message)?;
        parse(&mut block, secrets).map_err(|error| error.message)
    }
}

impl KeyValue for SigningConfig {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
        block.block(name, |block| {
            let secrets = secrets(block)?;
            parse(block, secrets)
        })
    }
}

/// Reads the secrets, of which there is at least one.
fn secrets(block: &mut ConfigBlock<'_>) -> Result<Vec<SecretText>, FieldError> {
    let keys = SignKeys::read(block)?;
    if keys.secret.as_ref().is_some_and(SecretText::is_blank) {
        return Err(block.invalid("secret", "must not be blank"));
    }
    if let Some(index) = keys.secrets.iter().position(SecretText::is_blank) {
        return Err(block.invalid(&format!("secrets[{index}]"), "must not be blank"));
    }
    let secrets: Vec<_> = keys.secret.into_iter().chain(keys.secrets).collect();
    if secrets.is_empty() {
        return Err(block.invalid("secret", "sign needs secret or secrets"));
    }
    Ok(secrets)
}

/// Reads the form of the signatures.
fn parse(block: &mut ConfigBlock<'_>, secrets: Vec<SecretText>) -> Result<SigningConfig, FieldError> {
    let keys = SignKeys::read(block)?;
    let name = settled(keys.preset);
    let preset = match &name {
        Some(name) => find_preset(name).ok_or_else(|| {
            block.invalid("preset", format!("unknown preset '{name}'; known: {}", preset_names()))
        })?,
        None => Preset::NONE,
    };
    let or_preset =
        |own: Option<String>, preset: Option<&str>| settled(own).or_else(|| preset.map(str::to_owned));
    let header = or_preset(keys.header, preset.header).unwrap_or_else(|| HEADER.into());
    let prefix = or_preset(keys.signature_prefix, preset.prefix);
    let packed = or_preset(keys.signature_key, preset.packed);
    let message = match or_preset(keys.message, preset.message) {
        None => SigningTemplate::default(),
        Some(text) => SigningTemplate::parse(&text).map_err(|why| block.invalid("message", why))?,
    };
    let timestamp = match or_preset(keys.timestamp, preset.timestamp) {
        None => None,
        Some(text) => Some(
            HeaderField::parse(&text)
                .ok_or_else(|| block.invalid("timestamp", "must be <header> or <header>:<key>"))?,
        ),
    };
    let signing = SigningConfig {
        secrets,
        is_standard: preset.id.is_some(),
        header,
        form: signature_form(block, prefix, packed)?,
        algorithm: keys.algorithm.or(preset.algorithm).unwrap_or(HmacAlgorithm::Sha256),
        message,
        encoding: keys.encoding.or(preset.encoding).unwrap_or(SignatureEncoding::Hex),
        timestamp,
        id: or_preset(keys.id, preset.id),
    };
    check_headers(block, &signing)?;
    Ok(signing)
}

/// Returns a text whose value is known now.
fn settled(text: Option<String>) -> Option<String> {
    text.filter(|text| !is_unresolved(text))
}

fn signature_form(
    block: &ConfigBlock<'_>,
    prefix: Option<String>,
    packed: Option<String>,
) -> Result<SignatureForm, FieldError> {
    match (prefix, packed) {
        (Some(_), Some(_)) => Err(block.invalid("signature_prefix", "not together with signature_key")),
        (Some(prefix), None) => Ok(SignatureForm::Prefixed(prefix)),
        (None, Some(key)) if is_packed_key(&key) => Ok(SignatureForm::Packed(key)),
        (None, Some(_)) => Err(block.invalid("signature_key", "this is no key of a packed header")),
        (None, None) => Ok(SignatureForm::Plain),
    }
}

/// Refuses headers that cannot be sent, or that would have to hold two values.
fn check_headers(block: &ConfigBlock<'_>, signing: &SigningConfig) -> Result<(), FieldError> {
    let timestamp = signing.timestamp.as_ref();
    let places = [
        ("header", Some(&signing.header)),
        ("timestamp", timestamp.map(|field| &field.name)),
        ("id", signing.id.as_ref()),
    ];
    for (field, header) in places.into_iter().filter_map(|(field, header)| Some((field, header?))) {
        check_header(header, "").map_err(|why| block.invalid(field, why))?;
    }
    // Every part of these headers is ASCII, so that it can be sent.
    let prefix = match &signing.form {
        SignatureForm::Plain => None,
        SignatureForm::Prefixed(prefix) => Some(("signature_prefix", prefix)),
        SignatureForm::Packed(key) => Some(("signature_key", key)),
    };
    let key = timestamp.and_then(|field| Some(("timestamp", field.key.as_ref()?)));
    for (field, text) in prefix.into_iter().chain(key) {
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(block.invalid(field, "a header holds printable ASCII alone"));
        }
    }
    let is_signature = |header: &str| header.eq_ignore_ascii_case(&signing.header);
    let is_packed = matches!(signing.form, SignatureForm::Packed(_));
    if timestamp.is_some_and(|field| is_signature(&field.name) && !(is_packed && field.key.is_some())) {
        let why = "the header of the signature holds the time only as <header>:<key>, with signature_key";
        return Err(block.invalid("timestamp", why));
    }
    let is_taken =
        |id: &String| is_signature(id) || timestamp.is_some_and(|field| field.name.eq_ignore_ascii_case(id));
    if signing.id.as_ref().is_some_and(is_taken) {
        return Err(block.invalid("id", "another part of the signature has this header"));
    }
    if signing.secrets.len() > 1 && signing.form == SignatureForm::Plain {
        let why = "the header holds one signature: name one secret, or a signature_prefix or signature_key";
        return Err(block.invalid("secrets", why));
    }
    Ok(())
}
