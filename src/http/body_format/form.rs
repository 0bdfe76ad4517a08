//! Forms: `application/x-www-form-urlencoded`.

use serde_json::{Map, Value};
use svc_channels::add_field;
use svc_model::ServiceError;

use crate::http::urlencoded::{decode, pairs};

/// Parses a form: values are texts, those of a repeated name a list in their order.
pub(super) fn parse_form(form: &str) -> Result<Map<String, Value>, ServiceError> {
    let mut fields = Map::new();
    for (index, (name, value)) in pairs(form).enumerate() {
        let name = decode(name, &format_args!("Name {} of the form", index + 1))?;
        let value = decode(value, &format_args!("Value {} of the form", index + 1))?;
        add_field(&mut fields, name, Value::String(value));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn form_fields_are_texts_and_repeats_are_lists() {
        let fields = parse_form("a=1&b=x+y&a=2&c%20d=%2541&flag&=e&&a=&f[0]=g").unwrap();
        let expected =
            json!({"a": ["1", "2", ""], "b": "x y", "c d": "%41", "flag": "", "": "e", "f[0]": "g"});
        assert_eq!(Value::Object(fields), expected);
    }
}
