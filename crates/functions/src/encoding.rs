//! Text encodings of bytes.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Accepts base64 with and without padding on decoding.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

/// The encodings in which authors write keys and data, the default first.
pub(crate) const TEXT_ENCODINGS: &[&str] = &["utf8", "hex", "base64"];

/// A text encoding of bytes. Padding of base64 is optional on decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ByteEncoding {
    /// UTF-8; only for decoding.
    #[default]
    Utf8,
    /// Hexadecimal digits, encoded in lower case.
    Hex,
    /// Standard base64, encoded with padding.
    Base64,
    /// URL-safe base64, encoded without padding.
    Base64Url,
}

impl ByteEncoding {
    /// Returns the encoding with that name, or `default` for no name and for an unknown one.
    pub(crate) fn from_name_or(name: Option<&str>, default: Self) -> Self {
        match name {
            Some("utf8") => Self::Utf8,
            Some("hex") => Self::Hex,
            Some("base64") => Self::Base64,
            Some("base64url") => Self::Base64Url,
            _ => default,
        }
    }

    /// Decodes a text. The error names the expected encoding.
    pub(crate) fn decode(self, text: &str) -> Result<Vec<u8>, &'static str> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Hex => hex::decode(text).map_err(|_| "this is not hexadecimal"),
            Self::Base64 => STANDARD.decode(text).map_err(|_| "this is not base64"),
            Self::Base64Url => URL_SAFE.decode(text).map_err(|_| "this is not base64url"),
        }
    }

    /// Encodes arbitrary bytes; uses hexadecimal instead of UTF-8.
    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Utf8 | Self::Hex => hex::encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => URL_SAFE.encode(bytes),
        }
    }

    /// Decodes a signature of `length` bytes in hexadecimal, base64 or URL-safe base64. The result is
    /// unambiguous: hexadecimal has another length, and a text that fits both kinds of base64 means the same
    /// bytes in both.
    pub(crate) fn detect(text: &str, length: usize) -> Option<Vec<u8>> {
        let decoded = [Self::Hex, Self::Base64, Self::Base64Url].into_iter();
        decoded.filter_map(|encoding| encoding.decode(text).ok()).find(|bytes| bytes.len() == length)
    }
}
