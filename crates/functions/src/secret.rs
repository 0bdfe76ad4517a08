//! Loading of secret fields: converts an authored value to the form that a task uses.

use serde_json::Value;
use svc_engine::{CompileSecrets, DeclaredSecrets, TaskError};
use svc_secrets::{ReferenceError, Secret, parse};

/// A reference that had no value when the workflow was loaded.
#[derive(Clone, Debug)]
pub(crate) struct UnresolvedSecret {
    field: String,
    /// The location of the value, for operators.
    detail: String,
}

impl UnresolvedSecret {
    /// Returns the error of a task that needs the value.
    pub(crate) fn error(&self) -> TaskError {
        let message = format!("{}: the secret it refers to has no value", self.field);
        TaskError::validation(message).with_detail(self.detail.clone())
    }
}

/// The loaded form of a secret, or the reason why it is missing.
pub(crate) type LoadedSecret<T> = Result<T, UnresolvedSecret>;

/// Reads a secret field and converts its value with `make`.
///
/// # Errors
/// The field is malformed, names an undeclared secret, or `make` rejects its value.
pub(crate) fn load<T, E: ToString>(
    field: &str,
    source: &Value,
    material: CompileSecrets<'_>,
    make: impl FnOnce(&str) -> Result<T, E>,
) -> Result<LoadedSecret<T>, String> {
    let refuse = |why: String| format!("{field}: {why}");
    let secret = match source {
        Value::String(text) => match parse(text) {
            Ok(None) => Secret::new(text.as_str()),
            Ok(Some(reference)) => {
                let unset = |detail| Ok(Err(UnresolvedSecret { field: field.to_owned(), detail }));
                match material.references.resolve(&reference) {
                    Ok(secret) if is_blank(&secret) => {
                        return unset(format!("{reference}: the value is blank"));
                    }
                    Ok(secret) => secret,
                    Err(error) => return unset(error.to_string()),
                }
            }
            Err(error) => return Err(refuse(malformed_message(&error))),
        },
        node => declared_secret(node, material.declared).map_err(refuse)?,
    };
    if is_blank(&secret) {
        return Err(refuse(BLANK.to_owned()));
    }
    make(secret.expose()).map(Ok).map_err(|why| refuse(why.to_string()))
}

const BLANK: &str = "the value is blank";

fn is_blank(secret: &Secret) -> bool {
    secret.expose().trim().is_empty()
}

/// Returns the literal text of a secret field; `None` for a reference or a declared name.
///
/// # Errors
/// The text is blank, or is a malformed or reserved reference.
pub(crate) fn literal(source: &Value) -> Result<Option<&str>, String> {
    let Value::String(text) = source else { return Ok(None) };
    match parse(text) {
        Ok(None) if text.trim().is_empty() => Err(BLANK.to_owned()),
        Ok(None) => Ok(Some(text)),
        Ok(Some(_)) => Ok(None),
        Err(error) => Err(malformed_message(&error)),
    }
}

/// Returns true for `{"secret": …}`.
pub(crate) fn is_declared(source: &Value) -> bool {
    source.as_object().is_some_and(|node| node.len() == 1 && node.contains_key("secret"))
}

fn declared_secret(node: &Value, declared: &DeclaredSecrets) -> Result<Secret, String> {
    let name = match node.get("secret").filter(|_| is_declared(node)) {
        Some(Value::String(name)) => name,
        Some(Value::Array(items)) if matches!(items.as_slice(), [Value::String(_)]) => {
            items.first().and_then(Value::as_str).unwrap_or_default()
        }
        _ => return Err("a secret is read by a literal name".to_owned()),
    };
    match declared.get(name) {
        Some(Value::String(value)) => Ok(Secret::new(value.as_str())),
        Some(_) => Err(format!("the secret \"{name}\" is no text")),
        None => Err(format!("the secret \"{name}\" is not declared")),
    }
}

/// Returns the message about a malformed reference. It omits the text, which may be a secret.
fn malformed_message(error: &ReferenceError) -> String {
    match error {
        ReferenceError::Env { .. } => "malformed env:// reference".to_owned(),
        ReferenceError::File { .. } => "malformed file:// reference".to_owned(),
        ReferenceError::Vault { .. } => "malformed vault:// reference".to_owned(),
        reserved @ ReferenceError::Reserved { .. } => reserved.to_string(),
    }
}
