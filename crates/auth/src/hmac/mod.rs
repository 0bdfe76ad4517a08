//! Mode `hmac`: authentication by a signature with a shared secret (RFC 2104).
//!
//! The verification works on the bytes as received, in this order: parse the signature, check the replay
//! window, build the signed message, and compare its HMAC under every secret with every presented signature,
//! even after a match. So a stale request costs no hash, and the time discloses nothing about the secrets.

mod macs;
mod packed;
mod signature;
mod signer;
mod window;

use svc_model::config::auth::{
    ConsumerSelection, HmacAlgorithm, HmacAuth, ReplayWindow, SignatureEncoding, SignatureForm,
};
use svc_model::config::{HeaderField, SigningTemplate, TemplatePart};
use svc_secrets::Resolver;

use crate::identity::{CredentialFingerprint, Identity};
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;
use crate::secret_field::{self, SecretFieldError};
use macs::Macs;

pub use signer::{MissingSignedHeader, RequestSigner, UnsignedRequest, message_id};

/// The accepted signatures of a channel.
#[derive(Debug)]
pub(crate) struct Signatures {
    /// In lower case, like all header names here.
    header: String,
    form: SignatureForm,
    encoding: Option<SignatureEncoding>,
    window: Option<ReplayWindow>,
    message: Vec<TemplatePart>,
    signers: Signers,
}

/// The holders of the accepted secrets.
#[derive(Debug)]
enum Signers {
    /// The channel itself has the secrets.
    Own {
        macs: Macs,
        /// Fingerprints of the secrets of the keys of `macs`, in their order.
        secrets: Vec<CredentialFingerprint>,
    },
    /// Consumers have them.
    Consumers { selection: ConsumerSelection, algorithm: HmacAlgorithm },
}

impl Signatures {
    pub(crate) fn build(config: &HmacAuth, resolver: &dyn Resolver) -> Result<Self, SecretFieldError> {
        let single = config.secret.iter().map(|secret| ("auth.secret".to_owned(), secret));
        let listed = config.secrets.iter().enumerate();
        let listed = listed.map(|(index, secret)| (format!("auth.secrets[{index}]"), secret));
        let (mut keys, mut fingerprints) = (Vec::new(), Vec::new());
        for (field, text) in single.chain(listed) {
            let secret = secret_field::resolve(&field, text, resolver)?;
            let fingerprint = CredentialFingerprint::from_secret(secret.expose().as_bytes());
            for key in signing_keys(&config.form, secret.expose()) {
                keys.push((field.clone(), key));
                fingerprints.push(fingerprint);
            }
        }
        let signers = match &config.consumers {
            Some(selection) => {
                Signers::Consumers { selection: selection.clone(), algorithm: config.algorithm }
            }
            None => Signers::Own { macs: Macs::build(config.algorithm, &keys)?, secrets: fingerprints },
        };
        Ok(Self {
            header: config.header.to_ascii_lowercase(),
            form: config.form.clone(),
            encoding: config.encoding,
            window: config.window.as_ref().map(|window| ReplayWindow {
                timestamp: lower(&window.timestamp),
                tolerance_secs: window.tolerance_secs,
            }),
            message: parts(&config.message),
            signers,
        })
    }

    /// Verifies the signature of a request and returns the identity of its signer.
    pub(crate) fn verify(&self, request: PresentedRequest<'_>) -> Result<Identity, RefusalReason> {
        let value = request.header(&self.header).ok_or(RefusalReason::Missing)?;
        let texts = signature::extract(&self.form, value).ok_or(RefusalReason::Malformed)?;
        if let Some(window) = &self.window {
            let stamp = field(request, &window.timestamp).ok_or(RefusalReason::StaleTimestamp)?;
            if !window::holds(window.tolerance_secs, request.now, stamp) {
                return Err(RefusalReason::StaleTimestamp);
            }
        }
        let message = self.message(request).ok_or(RefusalReason::MissingSignedHeader)?;
        // A signature that cannot be decoded is skipped; the others are still checked.
        let presented: Vec<_> =
            texts.into_iter().filter_map(|text| signature::decode(self.encoding, text)).collect();
        if presented.is_empty() {
            return Err(RefusalReason::Malformed);
        }
        let signer = match &self.signers {
            Signers::Own { macs, secrets } => {
                let matched = macs.find_match(&message, &presented).and_then(|index| secrets.get(index));
                matched.copied().map(Identity::of_credential)
            }
            Signers::Consumers { selection, algorithm } => {
                self.find_consumer(selection, *algorithm, request, &message, &presented)
            }
        };
        signer.ok_or(RefusalReason::BadSignature)
    }

    /// Tries the live keys of the selected consumers, of whom the request does not say which one signed.
    fn find_consumer(
        &self,
        selection: &ConsumerSelection,
        algorithm: HmacAlgorithm,
        request: PresentedRequest<'_>,
        message: &[&[u8]],
        presented: &[Vec<u8>],
    ) -> Option<Identity> {
        let (mut keys, mut holders) = (Vec::new(), Vec::new());
        for (holder, secret) in request.consumers?.signing_keys(selection, request.now) {
            for key in signing_keys(&self.form, secret.expose()) {
                keys.push((String::new(), key));
                holders.push(holder);
            }
        }
        let index = Macs::build(algorithm, &keys).ok()?.find_match(message, presented)?;
        holders.get(index).copied().map(Identity::of_consumer)
    }

    /// Returns the parts of the signed message; `None` if one of its headers is missing.
    fn message<'r>(&'r self, request: PresentedRequest<'r>) -> Option<Vec<&'r [u8]>> {
        let piece = |part: &'r TemplatePart| match part {
            TemplatePart::Text(text) => Some(text.as_bytes()),
            TemplatePart::Body => Some(request.body),
            TemplatePart::Header(header) => field(request, header),
        };
        self.message.iter().map(piece).collect()
    }
}

/// The form of a signature of [Standard Webhooks](https://www.standardwebhooks.com), and the begin of its secrets, behind
/// which the key is in base64.
const STANDARD_WEBHOOKS: (&str, &str) = ("v1,", "whsec_");

/// Returns the keys of a secret: its UTF-8 text, and of a secret of Standard Webhooks the bytes that it
/// encodes too, since some senders sign with the one and some with the other.
fn signing_keys(form: &SignatureForm, secret: &str) -> Vec<Vec<u8>> {
    let decoded = standard_key(form, secret);
    std::iter::once(secret.as_bytes().to_vec()).chain(decoded).collect()
}

/// Returns the key that a secret of Standard Webhooks encodes; `None` for another form or secret.
fn standard_key(form: &SignatureForm, secret: &str) -> Option<Vec<u8>> {
    let (standard, begin) = STANDARD_WEBHOOKS;
    let encoded = match form {
        SignatureForm::Prefixed(prefix) if prefix == standard => secret.strip_prefix(begin),
        _ => None,
    };
    let decoded = signature::decode(Some(SignatureEncoding::Base64), encoded?.as_bytes());
    decoded.filter(|key| !key.is_empty())
}

/// Returns the value of a header, or of the first packed pair with that key.
fn field<'r>(request: PresentedRequest<'r>, field: &HeaderField) -> Option<&'r [u8]> {
    let value = request.header(&field.name)?;
    match &field.key {
        None => Some(value),
        Some(key) => packed::values(value, key).next(),
    }
}

fn parts(template: &SigningTemplate) -> Vec<TemplatePart> {
    let part = |part: &TemplatePart| match part {
        TemplatePart::Header(field) => TemplatePart::Header(lower(field)),
        other => other.clone(),
    };
    template.parts().iter().map(part).collect()
}

fn lower(field: &HeaderField) -> HeaderField {
    HeaderField { name: field.name.to_ascii_lowercase(), key: field.key.clone() }
}
