//! Stand-ins for secrets while a workflow runs offline.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use svc_engine::{DeclaredSecrets, Redaction};
use svc_model::FieldError;
use svc_secrets::{Reference, ResolveError, Resolver, Secret};

/// Values that replace secrets, by name: that of a declared secret, that of a variable of an `env://`
/// reference, or a whole reference. Never printable.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StandIns(BTreeMap<String, String>);

impl fmt::Debug for StandIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl StandIns {
    /// Reads `{name: text}`. Texts are taken verbatim: a reference in one is not resolved. Paths begin at
    /// `at`.
    ///
    /// # Errors
    /// Every value that is no text; the error does not show it.
    pub fn parse(value: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        let Value::Object(members) = value else {
            return Err(vec![FieldError::type_mismatch(at, "object", value)]);
        };
        let wrong = members.iter().filter(|(_, value)| !value.is_string());
        let errors: Vec<_> = wrong
            .map(|(name, value)| FieldError::type_mismatch(format!("{at}.{name}"), "string", value))
            .collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let texts =
            members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Self(texts.collect()))
    }

    /// Returns the values that expressions read by name.
    pub fn declared_secrets(&self) -> DeclaredSecrets {
        self.0.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect()
    }

    /// Returns the names of declared secrets: those that are no references.
    pub(crate) fn declared_names(&self) -> impl Iterator<Item = &String> {
        self.0.keys().filter(|name| !name.contains("://"))
    }

    /// Returns what masks these values.
    pub fn redaction(&self) -> Redaction {
        let values: Vec<_> = self.0.values().map(|value| Value::from(value.as_str())).collect();
        Redaction::default().with(&values)
    }
}

impl Resolver for StandIns {
    fn resolve(&self, reference: &Reference) -> Result<Secret, ResolveError> {
        let whole = self.0.get(&reference.to_string());
        let secret = match reference {
            Reference::Env { var } => whole.or_else(|| self.0.get(var)),
            Reference::File { .. } | Reference::Vault { .. } => whole,
        };
        let missing =
            || ResolveError::unreadable(reference, "nothing stands in for it; add it to the secrets");
        secret.map(|value| Secret::new(value.as_str())).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve_text(stand_ins: &StandIns, reference: &str) -> Result<String, String> {
        let reference = svc_secrets::parse(reference).unwrap().unwrap();
        let resolution = stand_ins.resolve(&reference);
        resolution.map(|secret| secret.expose().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn stand_in_replaces_secret_variable_or_reference() {
        let secrets = json!({"sign": "a", "KEY": "b", "env://OTHER": "c", "vault://kv/app#key": "env://KEY"});
        let stand_ins = StandIns::parse(&secrets, "secrets").unwrap();
        assert_eq!(stand_ins.declared_secrets().get("sign"), Some(&json!("a")));
        assert_eq!(resolve_text(&stand_ins, "env://KEY").as_deref(), Ok("b"));
        assert_eq!(resolve_text(&stand_ins, "env://OTHER").as_deref(), Ok("c"));
        assert_eq!(
            resolve_text(&stand_ins, "vault://kv/app#key").as_deref(),
            Ok("env://KEY"),
            "taken verbatim"
        );
        let missing = resolve_text(&stand_ins, "env://NONE").unwrap_err();
        assert!(missing.contains("env://NONE") && missing.contains("add it to the secrets"), "{missing}");
    }

    #[test]
    fn non_text_stand_in_is_refused_without_value() {
        let errors =
            StandIns::parse(&json!({"a": {"pin": 4711}, "b": "fine", "c": 4711}), "secrets").unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["secrets.a", "secrets.c"]);
        assert!(!format!("{errors:?}").contains("4711"), "{errors:?}");
        let stand_ins = StandIns::parse(&json!({"sign": "canary"}), "secrets").unwrap();
        assert_eq!(format!("{stand_ins:?}"), r#"{"sign"}"#);
    }
}
