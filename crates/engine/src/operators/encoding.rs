//! `base64_encode`, `base64url_encode`, `hex_encode` and their `_decode` counterparts.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::arguments::{refuse, text_argument};

const PADDED: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDED);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, PADDED.with_encode_padding(false));

/// The encoding of bytes as text.
#[derive(Clone, Copy)]
pub(super) enum TextCodec {
    Base64,
    Base64Url,
    Hex,
}

impl TextCodec {
    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => URL_SAFE.encode(bytes),
            Self::Hex => hex::encode(bytes),
        }
    }

    fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Base64 => STANDARD.decode(text).ok(),
            Self::Base64Url => URL_SAFE.decode(text).ok(),
            Self::Hex => hex::decode(text).ok(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base64Url => "base64url",
            Self::Hex => "hex",
        }
    }
}

/// One value: a string as its UTF-8 bytes, anything else as compact JSON.
pub(super) struct Encode(pub(super) TextCodec);

impl CustomOperator for Encode {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let encoded = match args {
            [] | [DataValue::Null] => {
                return Err(refuse(format!("{}_encode has no form for null", self.0.name())));
            }
            [DataValue::String(text)] => self.0.encode(text.as_bytes()),
            [value] => self.0.encode(value.to_serde_value().to_string().as_bytes()),
            _ => return Err(refuse(format!("{}_encode takes one value", self.0.name()))),
        };
        Ok(arena.string(&encoded))
    }
}

/// One string, padded or not; the bytes must be UTF-8.
pub(super) struct Decode(pub(super) TextCodec);

impl CustomOperator for Decode {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let name = self.0.name();
        let text = text_argument(&format!("{name}_decode"), args)?;
        let bytes = self.0.decode(text).ok_or_else(|| refuse(format!("not a {name} text")))?;
        let decoded =
            String::from_utf8(bytes).map_err(|_| refuse(format!("the {name} text does not hold UTF-8")))?;
        Ok(arena.string(&decoded))
    }
}
