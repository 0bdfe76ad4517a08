//! Signatures of outgoing requests, in the forms that channels verify.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use svc_model::config::auth::{SignatureEncoding, SignatureForm};
use svc_model::config::connector::SigningConfig;
use svc_model::config::{HeaderField, SecretText, TemplatePart};

use super::macs::Macs;
use super::{lower, packed, parts, standard_key};

/// Fewest and most bytes of a key of Standard Webhooks.
const STANDARD_KEY_BYTES: RangeInclusive<usize> = 24..=64;

/// Bytes of the digest in an id of a message.
const ID_BYTES: usize = 16;

/// Signs requests with one or several secrets.
#[derive(Debug)]
pub struct RequestSigner {
    /// In lower case, like all header names here.
    header: String,
    form: SignatureForm,
    encoding: SignatureEncoding,
    message: Vec<TemplatePart>,
    timestamp: Option<HeaderField>,
    id: Option<String>,
    macs: Macs,
}

/// The parts of an outgoing request that a signature can cover.
#[derive(Clone, Copy, Debug)]
pub struct UnsignedRequest<'r> {
    /// Header names in lower case with raw values.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as it is sent.
    pub body: &'r [u8],
    /// The current Unix time, in seconds.
    pub now: i64,
}

/// The template signs a header that the request lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature covers the header '{0}', which the request lacks")]
pub struct MissingSignedHeader(pub String);

impl<'r> UnsignedRequest<'r> {
    /// Returns the value of a header, or of the first packed pair with that key.
    fn field(&self, field: &HeaderField) -> Option<&'r [u8]> {
        let (_, value) = self.headers.iter().find(|(known, _)| *known == field.name)?;
        match &field.key {
            None => Some(value.as_slice()),
            Some(key) => packed::values(value, key).next(),
        }
    }
}

impl RequestSigner {
    /// Makes the signer of settings whose references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub fn build(config: &SigningConfig) -> Result<Self, String> {
        let mut keys = Vec::with_capacity(config.secrets.len());
        for (index, secret) in config.secrets.iter().enumerate() {
            let place = format!("secret {} of {}", index + 1, config.secrets.len());
            keys.push((place.clone(), signing_key(config, secret).map_err(|why| format!("{place}: {why}"))?));
        }
        Ok(Self {
            header: config.header.to_ascii_lowercase(),
            form: config.form.clone(),
            encoding: config.encoding,
            message: parts(&config.message),
            timestamp: config.timestamp.as_ref().map(lower),
            id: config.id.as_ref().map(|id| id.to_ascii_lowercase()),
            macs: Macs::build(config.algorithm, &keys).map_err(|error| error.to_string())?,
        })
    }

    /// Signs a request as of its `now`. Returns the headers to add, which replace those of the same name: the
    /// signatures, and as far as the form has them the time and the id of the message.
    ///
    /// # Errors
    /// [`MissingSignedHeader`] if the request lacks a header that is signed.
    pub fn sign(
        &self,
        id: &str,
        request: UnsignedRequest<'_>,
    ) -> Result<Vec<(String, String)>, MissingSignedHeader> {
        let now = request.now.to_string();
        let mut message = Vec::with_capacity(self.message.len());
        for part in &self.message {
            message.push(match part {
                TemplatePart::Text(text) => text.as_bytes(),
                TemplatePart::Body => request.body,
                TemplatePart::Header(header) if Some(header) == self.timestamp.as_ref() => now.as_bytes(),
                TemplatePart::Header(header)
                    if header.key.is_none() && Some(&header.name) == self.id.as_ref() =>
                {
                    id.as_bytes()
                }
                TemplatePart::Header(header) => {
                    request.field(header).ok_or_else(|| MissingSignedHeader(header.name.clone()))?
                }
            });
        }
        let signatures = self.macs.sign(&message).into_iter().map(|code| self.encode(&code));
        Ok(self.headers(id, &now, signatures.collect()))
    }

    fn encode(&self, code: &[u8]) -> String {
        match self.encoding {
            SignatureEncoding::Hex => hex::encode(code),
            SignatureEncoding::Base64 => STANDARD.encode(code),
            SignatureEncoding::Base64Url => URL_SAFE_NO_PAD.encode(code),
        }
    }

    fn headers(&self, id: &str, now: &str, signatures: Vec<String>) -> Vec<(String, String)> {
        let mut headers = Vec::with_capacity(3);
        headers.extend(self.id.clone().map(|name| (name, id.to_owned())));
        // A packed header may hold the time together with the signatures.
        let mut before = String::new();
        if let Some(HeaderField { name, key }) = &self.timestamp {
            let value = key.as_ref().map_or_else(|| now.to_owned(), |key| format!("{key}={now}"));
            if *name == self.header {
                before = format!("{value},");
            } else {
                headers.push((name.clone(), value));
            }
        }
        let value = match &self.form {
            SignatureForm::Plain => signatures.into_iter().next().unwrap_or_default(),
            SignatureForm::Prefixed(prefix) => join(prefix, " ", &signatures),
            SignatureForm::Packed(key) => before + &join(&format!("{key}="), ",", &signatures),
        };
        headers.push((self.header.clone(), value));
        headers
    }
}

/// Joins signatures, each after the prefix.
fn join(prefix: &str, separator: &str, signatures: &[String]) -> String {
    let signatures = signatures.iter().map(|signature| format!("{prefix}{signature}"));
    signatures.collect::<Vec<_>>().join(separator)
}

/// Returns the key of a secret: its UTF-8 text, and of a secret of Standard Webhooks the bytes that it encodes.
fn signing_key(config: &SigningConfig, secret: &SecretText) -> Result<Vec<u8>, &'static str> {
    if secret.is_blank() {
        return Err("the value is blank");
    }
    let encoded = standard_key(&config.form, secret.expose());
    if !config.is_standard {
        return Ok(encoded.unwrap_or_else(|| secret.expose().as_bytes().to_vec()));
    }
    encoded
        .filter(|key| STANDARD_KEY_BYTES.contains(&key.len()))
        .ok_or("a secret of Standard Webhooks is whsec_ and 24 to 64 bytes in base64")
}

/// Returns the id of the message that the key of an effect names: a digest, which is the same whenever the effect is
/// repeated.
pub fn message_id(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    format!("msg_{}", hex::encode(&digest[..ID_BYTES]))
}
