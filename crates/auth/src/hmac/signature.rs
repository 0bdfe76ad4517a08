//! Extraction and decoding of signatures in a header.

use base64::Engine;
use base64::alphabet::{self, Alphabet};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use svc_model::config::auth::{SignatureEncoding, SignatureForm};

use super::packed;

/// Padding is optional, but trailing bits must be zero, so that a signature has only one form apart from
/// padding.
const fn base64(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

const STANDARD: GeneralPurpose = base64(&alphabet::STANDARD);
const URL_SAFE: GeneralPurpose = base64(&alphabet::URL_SAFE);

/// Returns the encoded signatures in a header value; `None` if there are none.
pub(super) fn extract<'h>(form: &SignatureForm, value: &'h [u8]) -> Option<Vec<&'h [u8]>> {
    let texts = match form {
        SignatureForm::Plain => vec![value],
        // A sender that rotates its secret signs with each: one signature behind the other.
        SignatureForm::Prefixed(prefix) => value
            .split(|byte| *byte == b' ')
            .filter_map(|text| text.strip_prefix(prefix.as_bytes()))
            .collect(),
        SignatureForm::Packed(key) => packed::values(value, key).collect(),
    };
    (!texts.is_empty()).then_some(texts)
}

/// Decodes a signature. Without a configured encoding, hexadecimal is tried first; the base64 of a hash is
/// valid hexadecimal with a probability below 2^-130.
pub(super) fn decode(encoding: Option<SignatureEncoding>, text: &[u8]) -> Option<Vec<u8>> {
    match encoding {
        Some(SignatureEncoding::Hex) => hex::decode(text).ok(),
        Some(SignatureEncoding::Base64) => STANDARD.decode(text).ok(),
        Some(SignatureEncoding::Base64Url) => URL_SAFE.decode(text).ok(),
        None => hex::decode(text).ok().or_else(|| STANDARD.decode(text).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SignatureEncoding::{Base64, Base64Url, Hex};

    #[test]
    fn prefix_stands_at_the_start_byte_by_byte() {
        let form = SignatureForm::Prefixed("v0=".into());
        assert_eq!(extract(&form, b"v0=ab"), Some(vec![&b"ab"[..]]));
        assert_eq!(extract(&form, b"v0=ab v1=x v0=cd"), Some(vec![&b"ab"[..], b"cd"]));
        for value in ["", "v0", "V0=ab", "ab", "v1=ab", "v1=v0=ab", "v1=x,v0=ab"] {
            assert_eq!(extract(&form, value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn every_signature_of_a_packed_header_counts() {
        let form = SignatureForm::Packed("v1".into());
        assert_eq!(extract(&form, b"t=1,v1=a,v1=b"), Some(vec![&b"a"[..], b"b"]));
        assert_eq!(extract(&form, b"t=1,v0=a"), None);
        assert_eq!(extract(&SignatureForm::Plain, b"t=1,v0=a"), Some(vec![&b"t=1,v0=a"[..]]));
    }

    #[test]
    fn an_encoding_reads_its_own_and_nothing_else() {
        let bytes = Some(vec![0xfb, 0xff, 0xfe, 0x0a]);
        for (encoding, text, found) in [
            (Some(Hex), "fbfffe0a", true),
            (Some(Hex), "FBFFfe0A", true),
            (Some(Hex), "fbfffe0", false),
            (Some(Hex), "+//+Cg==", false),
            (Some(Base64), "+//+Cg==", true),
            (Some(Base64), "+//+Cg", true),
            (Some(Base64), "-__-Cg==", false),
            (Some(Base64Url), "-__-Cg==", true),
            (Some(Base64Url), "-__-Cg", true),
            (Some(Base64Url), "+//+Cg==", false),
            (None, "fbfffe0a", true),
            (None, "+//+Cg", true),
            (None, "-__-Cg", false),
            (None, "fbfffe0a\n", false),
        ] {
            let decoded = decode(encoding, text.as_bytes());
            assert_eq!(decoded.is_some(), found, "{encoding:?} {text}");
            assert!(!found || decoded == bytes, "{encoding:?} {text}");
        }
    }

    #[test]
    fn hexadecimal_is_tried_before_base64() {
        assert_eq!(decode(None, b"abcd"), Some(vec![0xab, 0xcd]));
        assert_eq!(decode(Some(Base64), b"abcd"), Some(vec![0x69, 0xb7, 0x1d]));
    }

    #[test]
    fn surplus_bits_are_no_second_spelling() {
        assert_eq!(decode(Some(Base64), b"Cg=="), Some(vec![0x0a]));
        for text in ["Ch==", "Cg===", "Cg==Cg==", "C", " Cg=="] {
            assert_eq!(decode(Some(Base64), text.as_bytes()), None, "{text}");
        }
    }
}
