//! The parts of the address of a provider's page that a workflow adds.

use serde_json::Value;
use svc_model::config::is_reserved_parameter;

/// Parameters and scopes of a workflow, in addition to those of the channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInAdditions {
    /// Parameters of the page, without those that only the service sets.
    pub extra_params: Vec<(String, String)>,
    pub scopes: Vec<String>,
}

impl SignInAdditions {
    /// Reads `{extra_params, scopes}`; leaves out what is no text, and reserved parameters.
    pub fn parse(value: &Value) -> Self {
        let params = value["extra_params"].as_object().into_iter().flatten();
        let params = params.filter(|(name, _)| !is_reserved_parameter(name));
        let scopes = value["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Self {
            extra_params: params
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            scopes: scopes.filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reserved_parameters_and_other_types_are_left_out() {
        let params =
            json!({"login_hint": "ada", "state": "x", "n": 1, "request": "e30.e30.", "request_uri": "urn:x"});
        let value = json!({"extra_params": params, "scopes": ["email", 7, ""]});
        let additions = SignInAdditions::parse(&value);
        assert_eq!(additions.extra_params, [("login_hint".to_owned(), "ada".to_owned())]);
        assert_eq!(additions.scopes, ["email"]);
        assert_eq!(SignInAdditions::parse(&json!("x")), SignInAdditions::default());
    }
}
