//! The query string of a data request.

use serde_json::{Map, Value};
use svc_model::ServiceError;

use super::urlencoded::{decode, pairs};

/// The query string in an error.
const PLACE: &str = "The query string";

/// Decodes names and values once; the last value of a repeated name counts. A broken escape or invalid UTF-8
/// is a 400.
pub(crate) fn parse(query: &str) -> Result<Map<String, Value>, ServiceError> {
    if query.is_empty() {
        return Ok(Map::new());
    }
    pairs(query).map(|(name, value)| Ok((decode(name, &PLACE)?, decode(value, &PLACE)?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn query_is_decoded_once_last_value_wins() {
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
