//! `hash`: the digest of a text.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::arguments::refuse;
use super::encoding::TextCodec;
use super::guard::spend;

/// The digests.
pub(crate) const ALGORITHMS: [&str; 4] = ["sha256", "sha512", "sha1", "md5"];

/// The forms of a digest, the usual one first.
pub(crate) const DIGEST_FORMS: [&str; 2] = ["hex", "base64"];

/// Bytes between two looks at the clock, at most.
const PIECE: usize = 64 << 10;

/// `[value, algorithm, form]`: of the UTF-8 bytes of a text, of the JSON of another value.
pub(super) struct HashOperator;

impl CustomOperator for HashOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let (value, algorithm, form) = match args {
            [value, DataValue::String(algorithm)] => (value, *algorithm, DIGEST_FORMS[0]),
            [value, DataValue::String(algorithm), DataValue::String(form)] => (value, *algorithm, *form),
            _ => return Err(refuse("hash takes a value, an algorithm and a form")),
        };
        let form = match form {
            "hex" => TextCodec::Hex,
            "base64" => TextCodec::Base64,
            _ => return Err(refuse(format!("a hash has the forms {}", DIGEST_FORMS.join(", ")))),
        };
        let digest = match value {
            DataValue::Null => return Err(refuse("hash has no form for null")),
            DataValue::String(text) => digest(algorithm, text.as_bytes())?,
            value => digest(algorithm, value.to_serde_value().to_string().as_bytes())?,
        };
        Ok(arena.string(&form.encode(&digest)))
    }
}

fn digest(algorithm: &str, bytes: &[u8]) -> datalogic_rs::Result<Vec<u8>> {
    match algorithm {
        "sha256" => digest_in_pieces(Sha256::new(), bytes),
        "sha512" => digest_in_pieces(Sha512::new(), bytes),
        "sha1" => digest_in_pieces(Sha1::new(), bytes),
        "md5" => digest_in_pieces(Md5::new(), bytes),
        _ => Err(refuse(format!("hash knows {}", ALGORITHMS.join(", ")))),
    }
}

fn digest_in_pieces(mut hash: impl Digest, bytes: &[u8]) -> datalogic_rs::Result<Vec<u8>> {
    for piece in bytes.chunks(PIECE) {
        spend(1 + piece.len() / 16)?;
        hash.update(piece);
    }
    Ok(hash.finalize().to_vec())
}
