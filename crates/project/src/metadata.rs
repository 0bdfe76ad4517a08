//! The metadata of an offline run, checked and completed as the ingress of a channel would do.

use serde_json::{Map, Value};
use svc_model::mask::CREDENTIAL_HEADERS;
use svc_model::{FieldError, MASK};

/// Metadata that holds texts by name.
const TEXTS: [&str; 4] = ["headers", "params", "query", "cookies"];

/// Metadata that is a text.
const NAMES: [&str; 3] = ["channel", "http_method", "body_encoding"];

/// Checks the metadata of an offline run and returns it as a workflow sees it: header names in lower case,
/// credentials masked, records of earlier failures dropped. Paths begin at `at`.
///
/// # Errors
/// Every member that no channel would pass on in this form.
pub fn offline_metadata(
    mut metadata: Map<String, Value>,
    at: &str,
) -> Result<Map<String, Value>, Vec<FieldError>> {
    let mut errors = Vec::new();
    for (key, value) in &metadata {
        check(key, value, &format!("{at}.{key}"), &mut errors);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    metadata.remove("_svc_errors");
    if let Some(Value::Object(headers)) = metadata.get_mut("headers") {
        *headers = visible_headers(std::mem::take(headers));
    }
    Ok(metadata)
}

fn check(key: &str, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let expect =
        |expected: &str, holds: bool| (!holds).then(|| FieldError::type_mismatch(at, expected, value));
    match key {
        key if NAMES.contains(&key) => errors.extend(expect("string", value.is_string())),
        "vars" | "cloudevent" => errors.extend(expect("object", value.is_object())),
        key if TEXTS.contains(&key) => {
            errors.extend(expect("object", value.is_object()));
            for (name, value) in
                value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_string())
            {
                errors.push(FieldError::type_mismatch(format!("{at}.{name}"), "string", value));
            }
        }
        "identity" | "oauth" => errors.extend(expect("object", value.is_object())),
        "auth" => {
            errors.extend(expect("object", value.is_object()));
            for (name, fact) in value.as_object().into_iter().flatten() {
                errors.extend(check_auth(name, fact, format!("{at}.{name}")));
            }
        }
        _ => {}
    }
}

/// Checks a fact that the credential of a caller proves.
fn check_auth(name: &str, fact: &Value, at: String) -> Option<FieldError> {
    match name {
        "claims" => (!fact.is_object()).then(|| FieldError::type_mismatch(at, "object", fact)),
        "principal" | "consumer" => {
            (!fact.is_string()).then(|| FieldError::type_mismatch(at, "string", fact))
        }
        _ => Some(FieldError::invalid(at, "a channel passes on claims, principal and consumer alone")),
    }
}

/// Returns headers by their names in lower case, credentials masked, repeated names joined.
fn visible_headers(headers: Map<String, Value>) -> Map<String, Value> {
    let mut visible: Map<String, Value> = Map::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let is_credential = CREDENTIAL_HEADERS.contains(&name.as_str());
        let value = if is_credential { MASK.into() } else { value };
        match (visible.get_mut(&name), value) {
            (Some(Value::String(present)), Value::String(more)) if !is_credential => {
                present.push_str(", ");
                present.push_str(&more);
            }
            (_, value) => drop(visible.insert(name, value)),
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_metadata(metadata: Value) -> Result<Value, Vec<String>> {
        let Value::Object(metadata) = metadata else { panic!("an object") };
        let paths = |errors: Vec<FieldError>| errors.into_iter().map(|error| error.path).collect();
        offline_metadata(metadata, "metadata").map(Value::Object).map_err(paths)
    }

    #[test]
    fn headers_are_lower_case_and_credentials_masked() {
        let headers = json!({"X-Tenant": "t", "Authorization": "Bearer x", "COOKIE": "a=b", "X-API-Key": "k",
            "Proxy-Authorization": "p", "x-tenant": "u"});
        let masked = json!({"x-tenant": "t, u", "authorization": "******", "cookie": "******", "x-api-key": "******",
            "proxy-authorization": "******"});
        let given = json!({"headers": headers, "_svc_errors": [1], "tenant": 7, "vars": {"n": 1}});
        assert_eq!(check_metadata(given), Ok(json!({"headers": masked, "tenant": 7, "vars": {"n": 1}})));
    }

    #[test]
    fn facts_about_the_caller_are_kept() {
        let given = json!({"auth": {"claims": {"sub": "u"}, "principal": "acme", "consumer": "acme"}});
        assert_eq!(check_metadata(given.clone()), Ok(given));
    }

    #[test]
    fn metadata_no_channel_passes_is_refused() {
        for (metadata, path) in [
            (json!({"headers": ["a"]}), "metadata.headers"),
            (json!({"params": {"id": 7}}), "metadata.params.id"),
            (json!({"query": {"q": null}}), "metadata.query.q"),
            (json!({"cookies": {"sid": {}}}), "metadata.cookies.sid"),
            (json!({"channel": 1}), "metadata.channel"),
            (json!({"http_method": null}), "metadata.http_method"),
            (json!({"vars": []}), "metadata.vars"),
            (json!({"cloudevent": "e-1"}), "metadata.cloudevent"),
            (json!({"auth": {"token": "t"}}), "metadata.auth.token"),
            (json!({"auth": {"claims": "t"}}), "metadata.auth.claims"),
            (json!({"auth": {"principal": 7}}), "metadata.auth.principal"),
            (json!({"auth": {"consumer": ["acme"]}}), "metadata.auth.consumer"),
            (json!({"auth": "t"}), "metadata.auth"),
            (json!({"identity": "ada"}), "metadata.identity"),
            (json!({"oauth": []}), "metadata.oauth"),
        ] {
            assert_eq!(check_metadata(metadata), Err(vec![path.to_owned()]));
        }
    }
}
