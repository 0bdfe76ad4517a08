//! The query string of a data request.

use serde_json::{Map, Value};
use svc_model::ServiceError;

/// Decodes names and values once; the last value of a repeated name counts. A broken escape or invalid UTF-8
/// is a
/// 400.
pub(crate) fn parse(query: &str) -> Result<Map<String, Value>, ServiceError> {
    let mut values = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        values.insert(decode(name)?, decode(value)?.into());
    }
    Ok(values)
}

fn decode(text: &str) -> Result<String, ServiceError> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => unescape_byte(&mut bytes)
                .ok_or_else(|| ServiceError::validation("The query string has a broken percent escape"))?,
            plain => plain,
        });
    }
    String::from_utf8(decoded).map_err(|_| ServiceError::validation("The query string is not UTF-8"))
}

fn unescape_byte(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut digit = || char::from(bytes.next()?).to_digit(16);
    let (high, low) = (digit()?, digit()?);
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_values_are_decoded_once_and_the_last_wins() {
        let parsed = parse("a=1&b=x+y&a=2&c%20d=%2541&flag&=e&&").unwrap();
        assert_eq!(Value::Object(parsed), json!({"a": "2", "b": "x y", "c d": "%41", "flag": "", "": "e"}));
    }

    #[test]
    fn broken_escapes_and_foreign_encodings_are_refused() {
        for bad in ["a=%", "a=%4", "a=%zz", "%ff=1", "a=%+1"] {
            assert_eq!(parse(bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
