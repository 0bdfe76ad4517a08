//! Secret references: strings that name the location of a secret.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;
use svc_model::mask::is_file_place;

/// Reserved schemes without a backend. They are refused rather than treated as text.
const RESERVED: [&str; 3] = ["aws-sm", "gcp-sm", "azure-kv"];

/// The location of a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    /// `env://NAME`: a variable of the process environment.
    Env {
        /// Name of the variable: letters, digits and underscores.
        var: String,
    },
    /// `file://<absolute path>` or `file://$CREDENTIALS_DIRECTORY/<name>`: the content of a file.
    File {
        /// The place as it is written, behind `file://`.
        place: String,
    },
    /// `vault://<path>#<field>`: one field of a document in a secret store.
    Vault {
        /// Path below `/v1/` of the store.
        path: String,
        /// Field of the document.
        field: String,
    },
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env { var } => write!(f, "env://{var}"),
            Self::File { place } => write!(f, "file://{place}"),
            Self::Vault { path, field } => write!(f, "vault://{path}#{field}"),
        }
    }
}

/// An error in a text that starts like a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The scheme is reserved for a later backend.
    #[error("{scheme}:// is reserved and cannot be resolved; use env://, file:// or vault://")]
    Reserved { scheme: &'static str },
    /// `env://` without a valid variable name.
    #[error("'{text}' names no variable: expected env:// and a name of letters, digits and underscores")]
    Env {
        /// The text of the reference.
        text: String,
    },
    /// `file://` without the place of a file.
    #[error(
        "'{text}' names no file: expected file://<absolute path> or file://$CREDENTIALS_DIRECTORY/<name>"
    )]
    File {
        /// The text of the reference.
        text: String,
    },
    /// `vault://` without a path or a field.
    #[error("'{text}' is incomplete: expected vault://<path>#<field>")]
    Vault {
        /// The text of the reference.
        text: String,
    },
}

/// Parses a reference. Returns `None` for ordinary text, including URLs of other schemes (`postgres://…`,
/// `https://…`).
///
/// # Errors
/// [`ReferenceError::Env`], [`ReferenceError::File`] or [`ReferenceError::Vault`] for a malformed reference,
/// [`ReferenceError::Reserved`] for a reserved scheme.
pub fn parse(text: &str) -> Result<Option<Reference>, ReferenceError> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(None) };
    match scheme {
        "env" if is_variable_name(rest) => Ok(Some(Reference::Env { var: rest.to_owned() })),
        "env" => Err(ReferenceError::Env { text: text.to_owned() }),
        "file" if is_file_place(rest) => Ok(Some(Reference::File { place: rest.to_owned() })),
        "file" => Err(ReferenceError::File { text: text.to_owned() }),
        "vault" => match rest.split_once('#') {
            Some((path, field)) if !path.is_empty() && !field.is_empty() => {
                Ok(Some(Reference::Vault { path: path.to_owned(), field: field.to_owned() }))
            }
            _ => Err(ReferenceError::Vault { text: text.to_owned() }),
        },
        _ => match RESERVED.into_iter().find(|reserved| *reserved == scheme) {
            Some(scheme) => Err(ReferenceError::Reserved { scheme }),
            None => Ok(None),
        },
    }
}

/// Returns true if the text is treated as a reference, including a malformed or reserved one, and not as
/// plain text.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    !matches!(parse(text), Ok(None))
}

/// Adds all references in a document, at any depth.
pub fn collect(document: &Value, found: &mut BTreeSet<Reference>) {
    match document {
        Value::String(text) => found.extend(parse(text).ok().flatten()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        _ => {}
    }
}

/// Returns true for letters, digits and underscores: `[A-Za-z0-9_]+`.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(var: &str) -> Reference {
        Reference::Env { var: var.into() }
    }

    #[test]
    fn a_reference_is_the_whole_string() {
        assert_eq!(parse("env://DB_1"), Ok(Some(env("DB_1"))));
        assert_eq!(
            parse("vault://secret/data/db#password"),
            Ok(Some(Reference::Vault { path: "secret/data/db".into(), field: "password".into() }))
        );
        let credential = Reference::File { place: "$CREDENTIALS_DIRECTORY/db".into() };
        assert_eq!(parse("file://$CREDENTIALS_DIRECTORY/db"), Ok(Some(credential.clone())));
        assert_eq!(credential.to_string(), "file://$CREDENTIALS_DIRECTORY/db");
        assert_eq!(parse("file:///run/db"), Ok(Some(Reference::File { place: "/run/db".into() })));
        for text in
            ["x env://DB", " env://DB", "ENV://DB", "env:/DB", "", "plain", "postgres://h/db", "https://x#y"]
        {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn malformed_reference_is_an_error_and_no_text() {
        for text in [
            "env://",
            "env://A-B",
            "env://A B",
            "file://",
            "file://run/a",
            "file:///a/../b",
            "vault://",
            "vault://p",
            "vault://p#",
            "vault://#f",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
            assert!(is_reference(text), "{text:?}");
        }
    }

    #[test]
    fn references_are_found_at_every_depth_and_once() {
        let mut found = BTreeSet::new();
        let document =
            serde_json::json!({"a": ["env://A", {"b": "env://B", "env://C": "text"}], "c": "env://A"});
        collect(&document, &mut found);
        assert_eq!(found, BTreeSet::from([env("A"), env("B")]));
    }

    #[test]
    fn a_reserved_scheme_is_refused() {
        for text in ["aws-sm://a", "gcp-sm://a", "azure-kv://a"] {
            assert!(matches!(parse(text), Err(ReferenceError::Reserved { .. })), "{text:?}");
        }
    }
}
