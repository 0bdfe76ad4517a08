//! The declarations of an installation for its workflows: `[vars]`, `[secrets]`; and raw properties of a client
//! library.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value as Json, json};
use svc_secrets::mask::mask;
use svc_secrets::{is_file_pattern, is_variable_pattern};

use super::problem::Diagnostics;
use super::setting::{Setting, describe_value};

/// `[vars]`: plain values that workflows read as `metadata.vars`, and that show in traces.
#[derive(Clone, Default)]
pub struct VarsSection(pub Map<String, Json>);

/// `[secrets]`: names that workflows use and their references, and the variables and files that stored
/// definitions may read. No values are kept here.
#[derive(Clone, Debug, Default)]
pub struct SecretsSection {
    /// The names, each with its reference.
    pub references: BTreeMap<String, String>,
    /// Names and patterns of the variables that stored definitions may read; `None` for every variable.
    pub allowed_env: Option<Vec<String>>,
    /// Places and patterns of the files that stored definitions may read; `None` for every file, or for none if variables
    /// are restricted.
    pub allowed_files: Option<Vec<String>>,
}

/// The keys of `[secrets]` that are not names of secrets.
const ALLOWED_ENV: &str = "allowed_env";
const ALLOWED_FILES: &str = "allowed_files";

/// Raw properties of a client library. A property may be a password, so they are shown masked.
#[derive(Clone, Default)]
pub struct ClientProperties(pub BTreeMap<String, String>);

/// `[oauth2_login.providers]`: the keys of identity providers, by the names of the providers.
#[derive(Clone, Default)]
pub struct SignInProvidersSection(pub Map<String, Json>);

impl fmt::Debug for SignInProvidersSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self, f)
    }
}

impl fmt::Debug for VarsSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self, f)
    }
}

impl fmt::Debug for ClientProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self, f)
    }
}

/// Formats the value as `validate-config` shows it.
fn debug(setting: &dyn Setting, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut value = setting.show();
    mask("", &mut value);
    write!(f, "{value}")
}

macro_rules! value_tables {
    ($($type:ty: $expected:literal, $schema:tt),+) => { $(
        impl Setting for $type {
            fn describe_expected(&self) -> String {
                $expected.to_owned()
            }

            fn read(&mut self, value: &toml::Value) -> Result<(), String> {
                let table = table(value, self)?;
                self.0 = table
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), json(name, value)?)))
                    .collect::<Result<_, String>>()?;
                Ok(())
            }

            fn assign(&mut self, _: &str) -> bool {
                false
            }

            fn show(&self) -> Json {
                self.0.clone().into()
            }

            fn schema(&self) -> Json {
                json!($schema)
            }

            fn overridable(&self) -> bool {
                false
            }
        }
    )+ };
}

value_tables!(
    VarsSection: "a table of strings, numbers, booleans, arrays and tables", {"type": "object"},
    SignInProvidersSection: "a table of tables", {"type": "object", "additionalProperties": {"type": "object"}}
);

macro_rules! string_tables {
    ($($type:ty: $expected:literal),+) => { $(
        impl Setting for $type {
            fn describe_expected(&self) -> String {
                $expected.to_owned()
            }

            fn read(&mut self, value: &toml::Value) -> Result<(), String> {
                let strings = table(value, self)?.iter().map(|(name, value)| match value.as_str() {
                    Some(text) => Ok((name.clone(), text.to_owned())),
                    None => Err(format!("{name}: expected a string, found {}", describe_value(value))),
                });
                self.0 = strings.collect::<Result<_, _>>()?;
                Ok(())
            }

            fn assign(&mut self, _: &str) -> bool {
                false
            }

            fn show(&self) -> Json {
                self.0.iter().map(|(name, text)| (name.clone(), Json::from(text.as_str()))).collect()
            }

            fn schema(&self) -> Json {
                json!({"type": "object", "additionalProperties": {"type": "string"}})
            }

            fn overridable(&self) -> bool {
                false
            }
        }
    )+ };
}

string_tables!(ClientProperties: "a table of strings");

impl Setting for SecretsSection {
    fn describe_expected(&self) -> String {
        "a table of secret references, `allowed_env` and `allowed_files`".to_owned()
    }

    fn read(&mut self, value: &toml::Value) -> Result<(), String> {
        *self = Self::default();
        for (name, value) in table(value, self)? {
            if name == ALLOWED_ENV {
                self.allowed_env = Some(patterns(name, value)?);
            } else if name == ALLOWED_FILES {
                self.allowed_files = Some(patterns(name, value)?);
            } else if let Some(text) = value.as_str() {
                self.references.insert(name.clone(), text.to_owned());
            } else {
                return Err(format!("{name}: expected a string, found {}", describe_value(value)));
            }
        }
        Ok(())
    }

    fn assign(&mut self, _: &str) -> bool {
        false
    }

    fn show(&self) -> Json {
        let references = self.references.iter().map(|(name, text)| (name.clone(), Json::from(text.as_str())));
        let lists = [(ALLOWED_ENV, &self.allowed_env), (ALLOWED_FILES, &self.allowed_files)];
        let allowed =
            lists.into_iter().filter_map(|(key, list)| Some((key.to_owned(), list.clone()?.into())));
        references.chain(allowed).collect()
    }

    fn schema(&self) -> Json {
        json!({
            "type": "object",
            "properties": {
                ALLOWED_ENV: {"type": "array", "items": {"type": "string"}},
                ALLOWED_FILES: {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": {"type": "string"},
        })
    }

    fn overridable(&self) -> bool {
        false
    }
}

/// The value of `allowed_env` or `allowed_files`.
fn patterns(key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let refused = |value| format!("{key}: expected a list of strings, found {}", describe_value(value));
    let items = value.as_array().ok_or_else(|| refused(value))?;
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| refused(item))).collect()
}

fn table<'a>(value: &'a toml::Value, setting: &dyn Setting) -> Result<&'a toml::Table, String> {
    value
        .as_table()
        .ok_or_else(|| format!("expected {}, found {}", setting.describe_expected(), describe_value(value)))
}

/// Converts a TOML value to JSON. Dates, and numbers that JSON does not have, are refused with their path.
fn json(path: &str, value: &toml::Value) -> Result<Json, String> {
    Ok(match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Boolean(truth) => (*truth).into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number)
            .ok_or_else(|| format!("{path}: {number} is no finite number"))?
            .into(),
        toml::Value::Datetime(_) => {
            return Err(format!("{path}: a date is no value here; write it as a string"));
        }
        toml::Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, item)| json(&format!("{path}[{i}]"), item))
            .collect::<Result<_, _>>()?,
        toml::Value::Table(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| Ok((name.clone(), json(&format!("{path}.{name}"), value)?)))
                .collect::<Result<_, String>>()?,
        ),
    })
}

impl VarsSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        for (name, value) in &self.0 {
            check_name("vars", name, diagnostics);
            refuse_references(&format!("vars.{name}"), value, diagnostics);
        }
    }
}

impl SecretsSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        for pattern in self.allowed_env.iter().flatten().filter(|pattern| !is_variable_pattern(pattern)) {
            let why = format!("{pattern:?}: a variable is letters, digits and underscores, `*` any of them");
            diagnostics.refuse("secrets.allowed_env", why);
        }
        for pattern in self.allowed_files.iter().flatten().filter(|pattern| !is_file_pattern(pattern)) {
            let why = format!(
                "{pattern:?}: a file is an absolute path or $CREDENTIALS_DIRECTORY/ and a name, `*` any characters"
            );
            diagnostics.refuse("secrets.allowed_files", why);
        }
        for (name, text) in &self.references {
            check_name("secrets", name, diagnostics);
            match svc_secrets::parse(text) {
                Ok(Some(_)) => {}
                // The text may be the secret itself: it is not told.
                Ok(None) => diagnostics.refuse(
                    &format!("secrets.{name}"),
                    "must be a reference: env://VARIABLE, file://<path> or vault://<path>#<field>",
                ),
                Err(error) => diagnostics.refuse(&format!("secrets.{name}"), error.to_string()),
            }
        }
    }
}

fn check_name(section: &str, name: &str, diagnostics: &mut Diagnostics) {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !start || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        diagnostics.refuse(
            section,
            format!("{name:?}: a name is letters, digits and underscores, and begins with no digit"),
        );
    }
}

/// Refuses secret references in variables, which show in traces.
fn refuse_references(path: &str, value: &Json, diagnostics: &mut Diagnostics) {
    match value {
        Json::String(text) if svc_secrets::is_reference(text) => {
            diagnostics.refuse(
                path,
                "holds a secret reference, and variables show in traces; declare it in [secrets]",
            );
        }
        Json::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| refuse_references(&format!("{path}[{i}]"), item, diagnostics));
        }
        Json::Object(members) => {
            members
                .iter()
                .for_each(|(name, value)| refuse_references(&format!("{path}.{name}"), value, diagnostics));
        }
        _ => {}
    }
}
