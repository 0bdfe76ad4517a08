//! Names and values in the form of `application/x-www-form-urlencoded`.

use std::fmt::Display;
use std::iter;

use svc_model::ServiceError;

/// Splits a text into names and values, still encoded. Empty pairs are left out.
pub(crate) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Decodes a name or a value once; `place` names it in an error.
///
/// # Errors
/// 400 for a broken escape or invalid UTF-8.
pub(crate) fn decode(text: &str, place: &dyn Display) -> Result<String, ServiceError> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let mut bytes = text.bytes();
    let decoded = iter::from_fn(|| {
        Some(match bytes.next()? {
            b'+' => Some(b' '),
            b'%' => unescape_byte(&mut bytes),
            plain => Some(plain),
        })
    });
    let decoded: Option<Vec<u8>> = decoded.collect();
    let decoded =
        decoded.ok_or_else(|| ServiceError::validation(format!("{place} has a broken percent escape")))?;
    String::from_utf8(decoded).map_err(|_| ServiceError::validation(format!("{place} is not UTF-8")))
}

fn unescape_byte(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut digit = || char::from(bytes.next()?).to_digit(16);
    let (high, low) = (digit()?, digit()?);
    u8::try_from(high * 16 + low).ok()
}
