//! The input `cloudevent`, which functions that send messages share.

use serde_json::{Map, Value};
use svc_engine::catalogue::InputField;
use svc_model::{FieldError, is_uri_reference, unknown_keys};

/// The keys of the input.
const KEYS: [&str; 4] = ["type", "source", "subject", "mode"];

/// The places that the attributes of an event can have.
const MODES: [&str; 2] = ["binary", "structured"];

/// The declaration of the input.
pub(super) const CLOUDEVENT: InputField = InputField::object(
    "cloudevent",
    "Sends an event of CloudEvents 1.0: {type, source, subject, mode}; the first three are expressions, the mode is binary, the default, or structured",
)
.of_logic();

/// Checks the input beyond its expressions.
pub(super) fn check_event(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let Some(Value::Object(block)) = input.get("cloudevent") else { return };
    let at = format!("{at}.cloudevent");
    errors.extend(unknown_keys(block, &at, &KEYS, &[]));
    let given = |name: &str| block.get(name).filter(|value| !value.is_null());
    for name in ["type", "source"] {
        if given(name).is_none() {
            errors.push(FieldError::required(format!("{at}.{name}")));
        }
    }
    for name in ["type", "source", "subject"] {
        match given(name) {
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(format!("{at}.{name}"), "an attribute is not empty"));
            }
            // An expression may compute a number, such as an id; written as one it is a slip.
            Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_))) => {
                errors.push(FieldError::type_mismatch(
                    format!("{at}.{name}"),
                    "text or an expression",
                    value,
                ));
            }
            _ => {}
        }
    }
    let source = given("source").and_then(Value::as_str).filter(|source| !source.is_empty());
    if source.is_some_and(|source| !is_uri_reference(source)) {
        let why = "use a URI reference, as in /shop or https://shop.example/orders";
        errors.push(FieldError::invalid(format!("{at}.source"), why));
    }
    if let Some(mode) = given("mode")
        && !mode.as_str().is_some_and(|mode| MODES.contains(&mode))
    {
        let why = format!("use one of {}", MODES.join(", "));
        errors.push(FieldError::invalid(format!("{at}.mode"), why).with_expected(MODES.as_slice()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn event_needs_type_source_and_a_known_mode() {
        let problems = |block: Value| {
            let mut errors = Vec::new();
            check_event(&Map::from_iter([("cloudevent".to_owned(), block)]), "input", &mut errors);
            errors.into_iter().map(|error| error.path).collect::<Vec<_>>()
        };
        let fine = json!({"type": "t", "source": {"var": "data.s"}, "subject": {"var": "data.id"},
            "mode": "structured"});
        assert_eq!(problems(fine), [""; 0]);
        assert_eq!(problems(json!({})), ["input.cloudevent.type", "input.cloudevent.source"]);
        assert_eq!(
            problems(json!({"type": "", "source": "a b"})),
            ["input.cloudevent.type", "input.cloudevent.source"]
        );
        assert_eq!(
            problems(json!({"type": "t", "source": "/s", "mode": "batch"})),
            ["input.cloudevent.mode"]
        );
        assert_eq!(
            problems(json!({"type": "t", "source": "/s", "subjet": "x"})),
            ["input.cloudevent.subjet"]
        );
        assert_eq!(
            problems(json!({"type": 7, "source": true, "subject": ["x"]})),
            ["input.cloudevent.type", "input.cloudevent.source", "input.cloudevent.subject"]
        );
    }
}
