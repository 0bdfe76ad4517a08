//! The definition of settings: a typed value with a name, a default and a description, declared once.
//!
//! [`section!`] declares a section of the configuration. From that one declaration come the struct, its defaults, the
//! keys a file may hold, the variables that override them, what `validate-config` prints and the reference manual.

use serde_json::{Value as Json, json};
use svc_secrets::Secret;

/// Prefix of the variables that override settings.
pub(crate) const PREFIX: &str = "SVC_";

/// Aliases of settings.
pub(crate) const ALIASES: [(&str, &str); 1] = [("tracing.mode", "trace_storage.mode")];

/// One value of the configuration.
pub(crate) trait Setting {
    /// Describes the expected value, for people.
    fn describe_expected(&self) -> String;
    /// Assigns the value of a file. The error describes the problem and never contains the value.
    fn read(&mut self, value: &toml::Value) -> Result<(), String>;
    /// Assigns the text of an environment variable; returns `false` for an invalid value.
    fn assign(&mut self, text: &str) -> bool;
    /// Returns the value to show; null if unset. A secret is struck out.
    fn show(&self) -> Json;
    /// Returns the value itself, secrets too, to be compared and never to be shown.
    fn compared_value(&self) -> Json {
        self.show()
    }
    /// Returns the JSON Schema of the value in a file.
    fn schema(&self) -> Json;
    /// Returns `true` if a variable can set it.
    fn overridable(&self) -> bool {
        true
    }
}

/// A setting, or a section without one, as it is listed.
pub(crate) struct SettingEntry<'a> {
    /// Dotted path of the key; of the root section, empty.
    pub(crate) path: String,
    /// Its documentation.
    pub(crate) doc: &'static str,
    /// The value; none for a section.
    pub(crate) setting: Option<&'a dyn Setting>,
}

/// A setting or a section of settings.
pub(crate) trait SettingNode {
    /// Lists this node and everything below it, in the order of declaration.
    fn list<'a>(&'a self, path: &str, doc: &'static str, entries: &mut Vec<SettingEntry<'a>>);
    /// Hands every setting and its path to a visitor.
    fn visit(&mut self, path: &str, visitor: &mut dyn FnMut(&str, &mut dyn Setting));
    /// Hands the path of every setting that another configuration has another value of to `takes`, and takes that
    /// value if it returns `true`.
    fn take_changes(&mut self, other: &Self, path: &str, takes: &mut dyn FnMut(&str) -> bool)
    where
        Self: Sized;
}

impl<T: Setting + Clone> SettingNode for T {
    fn list<'a>(&'a self, path: &str, doc: &'static str, entries: &mut Vec<SettingEntry<'a>>) {
        entries.push(SettingEntry { path: path.to_owned(), doc, setting: Some(self) });
    }

    fn visit(&mut self, path: &str, visitor: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visitor(path, self);
    }

    fn take_changes(&mut self, other: &Self, path: &str, takes: &mut dyn FnMut(&str) -> bool) {
        if self.compared_value() != other.compared_value() && takes(path) {
            self.clone_from(other);
        }
    }
}

/// Returns the variable that overrides a key.
pub(crate) fn variable_name(key: &str) -> String {
    format!("{PREFIX}{}", key.to_ascii_uppercase().replace('.', "__"))
}

/// Returns the path of a key inside a section.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Declares a section: `/// docs  pub field: Type = default,` for each key.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident { $( $(#[doc = $doc:literal])+ pub $field:ident: $type:ty = $default:expr, )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $type, )+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $crate::config::setting::SettingNode for $name {
            fn list<'a>(
                &'a self,
                path: &str,
                _: &'static str,
                entries: &mut Vec<$crate::config::setting::SettingEntry<'a>>,
            ) {
                use $crate::config::setting::{SettingEntry, SettingNode, join};
                entries.push(SettingEntry { path: path.to_owned(), doc: concat!($($about, "\n"),+), setting: None });
                $( SettingNode::list(&self.$field, &join(path, stringify!($field)), concat!($($doc, "\n"),+), entries); )+
            }

            fn visit(&mut self, path: &str, visitor: &mut dyn FnMut(&str, &mut dyn $crate::config::setting::Setting)) {
                use $crate::config::setting::{SettingNode, join};
                $( SettingNode::visit(&mut self.$field, &join(path, stringify!($field)), visitor); )+
            }

            fn take_changes(&mut self, other: &Self, path: &str, takes: &mut dyn FnMut(&str) -> bool) {
                use $crate::config::setting::{SettingNode, join};
                $( SettingNode::take_changes(&mut self.$field, &other.$field, &join(path, stringify!($field)), takes); )+
            }
        }

        impl std::fmt::Debug for $name {
            /// Shows what `validate-config` shows: secrets are struck out.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::config::show::debug(stringify!($name), self, f)
            }
        }
    };
}

/// A type that can be required, be optional, or be listed.
pub(crate) trait Scalar: Sized {
    /// Describes the expected value, for people.
    const EXPECTED: &'static str;
    /// `true` if an empty variable is a value; otherwise it unsets an optional setting.
    const EMPTY_IS_A_VALUE: bool = false;
    /// Parses the value of a file.
    fn from_toml(value: &toml::Value) -> Option<Self>;
    /// Parses the text of a variable.
    fn from_text(text: &str) -> Option<Self>;
    /// Returns the value to show.
    fn to_json(&self) -> Json;
    /// Returns the value itself, to be compared.
    fn to_compared(&self) -> Json {
        self.to_json()
    }
    /// Returns the JSON Schema of the value in a file.
    fn schema() -> Json {
        json!({"type": "string"})
    }
}

/// Makes scalars settings of their own. (A blanket implementation would overlap with those of `Option` and `Vec`.)
macro_rules! scalar_settings {
    ($($type:ty),+ $(,)?) => { $(
        impl $crate::config::setting::Setting for $type {
            fn describe_expected(&self) -> String {
                <Self as $crate::config::setting::Scalar>::EXPECTED.to_owned()
            }

            fn read(&mut self, value: &toml::Value) -> Result<(), String> {
                *self = $crate::config::setting::read_scalar(value)?;
                Ok(())
            }

            fn assign(&mut self, text: &str) -> bool {
                <Self as $crate::config::setting::Scalar>::from_text(text).map(|value| *self = value).is_some()
            }

            fn show(&self) -> serde_json::Value {
                $crate::config::setting::Scalar::to_json(self)
            }

            fn compared_value(&self) -> serde_json::Value {
                $crate::config::setting::Scalar::to_compared(self)
            }

            fn schema(&self) -> serde_json::Value {
                <Self as $crate::config::setting::Scalar>::schema()
            }
        }
    )+ };
}

/// Declares a setting with a fixed set of words, compared without regard to case.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )+ }

        impl $name {
            /// The word as it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        impl $crate::config::setting::Scalar for $name {
            const EXPECTED: &'static str = concat!("one of:", $(" ", $word),+);

            fn from_toml(value: &toml::Value) -> Option<Self> {
                Self::from_text(value.as_str()?)
            }

            fn from_text(text: &str) -> Option<Self> {
                [$( Self::$variant, )+].into_iter().find(|choice| choice.as_str().eq_ignore_ascii_case(text))
            }

            fn to_json(&self) -> serde_json::Value {
                self.as_str().into()
            }

            fn schema() -> serde_json::Value {
                svc_project::schema::one_of_any_case(&[$($word),+])
            }
        }

        $crate::config::setting::scalar_settings!($name);
    };
}

pub(crate) use {choice, scalar_settings, section};

/// Parses the value of a file; the error names the expected and the found value.
pub(crate) fn read_scalar<T: Scalar>(value: &toml::Value) -> Result<T, String> {
    T::from_toml(value).ok_or_else(|| format!("expected {}, found {}", T::EXPECTED, describe_value(value)))
}

/// Describes the kind of a value of a file. Numbers and booleans are shown, since they are no secrets; strings are
/// not.
pub(crate) fn describe_value(value: &toml::Value) -> String {
    match value {
        toml::Value::Integer(number) => number.to_string(),
        // A whole one keeps its point, which is what is wrong with it.
        toml::Value::Float(number) => format!("{number:?}"),
        toml::Value::Boolean(truth) => truth.to_string(),
        // The string itself may be a secret.
        toml::Value::String(text) if text.parse::<f64>().is_ok() => "a number in quotes".to_owned(),
        toml::Value::String(text) if matches!(text.as_str(), "true" | "false") => {
            format!("{text} in quotes")
        }
        toml::Value::String(_) => "another string".to_owned(),
        toml::Value::Array(_) => "an array".to_owned(),
        toml::Value::Table(_) => "a table".to_owned(),
        toml::Value::Datetime(_) => "a date".to_owned(),
    }
}

macro_rules! whole_numbers {
    ($($type:ty: $expected:literal),+) => { $(
        impl Scalar for $type {
            const EXPECTED: &'static str = $expected;

            fn from_toml(value: &toml::Value) -> Option<Self> {
                value.as_integer()?.try_into().ok()
            }

            fn from_text(text: &str) -> Option<Self> {
                if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
            }

            fn to_json(&self) -> Json {
                (*self).into()
            }

            fn schema() -> Json {
                json!({"type": "integer", "minimum": 0, "maximum": <$type>::MAX})
            }
        }
    )+ };
}

whole_numbers!(
    u16: "a whole number from 0 to 65535",
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number, 0 or more",
    usize: "a whole number, 0 or more"
);

impl Scalar for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_bool()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn to_json(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

impl Scalar for f64 {
    const EXPECTED: &'static str = "a decimal number";

    #[expect(clippy::cast_precision_loss, reason = "settings are small numbers")]
    fn from_toml(value: &toml::Value) -> Option<Self> {
        value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64))
            .filter(|number| number.is_finite())
    }

    fn from_text(text: &str) -> Option<Self> {
        if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') { text.parse().ok() } else { None }
    }

    fn to_json(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({"type": "number"})
    }
}

impl Scalar for String {
    const EXPECTED: &'static str = "a string";
    const EMPTY_IS_A_VALUE: bool = true;

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn to_json(&self) -> Json {
        self.as_str().into()
    }
}

impl Scalar for Secret {
    const EXPECTED: &'static str = "a string";
    const EMPTY_IS_A_VALUE: bool = true;

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().map(Self::new)
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::new(text))
    }

    /// Masks a secret whatever its key; a reference is shown, as it only names a place.
    fn to_json(&self) -> Json {
        let readable = self.is_empty() || svc_secrets::is_reference(self.expose());
        if readable { self.expose().into() } else { svc_secrets::mask::MASK.into() }
    }

    fn to_compared(&self) -> Json {
        self.expose().into()
    }
}

scalar_settings!(bool, u16, u32, u64, usize, f64, String, Secret);

impl<T: Scalar> Setting for Option<T> {
    fn describe_expected(&self) -> String {
        T::EXPECTED.to_owned()
    }

    fn read(&mut self, value: &toml::Value) -> Result<(), String> {
        *self = Some(read_scalar(value)?);
        Ok(())
    }

    fn assign(&mut self, text: &str) -> bool {
        if text.is_empty() && !T::EMPTY_IS_A_VALUE {
            *self = None;
            return true;
        }
        *self = T::from_text(text);
        self.is_some()
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_json)
    }

    fn compared_value(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_compared)
    }

    fn schema(&self) -> Json {
        T::schema()
    }
}

/// Returns `true` for a list as JSON or TOML has it. In a variable its brackets and quotes would be part of the items.
pub(crate) fn is_bracketed_list(text: &str) -> bool {
    text.trim_start().starts_with("['") || serde_json::from_str::<Vec<Json>>(text).is_ok()
}

impl<T: Scalar> Setting for Vec<T> {
    fn describe_expected(&self) -> String {
        format!("a list, each entry {}", T::EXPECTED)
    }

    fn read(&mut self, value: &toml::Value) -> Result<(), String> {
        let Some(items) = value.as_array() else {
            return Err(format!("expected {}, found {}", self.describe_expected(), describe_value(value)));
        };
        let read = items.iter().enumerate().map(|(index, item)| {
            read_scalar(item).map_err(|problem| format!("entry {}: {problem}", index + 1))
        });
        *self = read.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn assign(&mut self, text: &str) -> bool {
        if is_bracketed_list(text) {
            return false;
        }
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(T::from_text).collect::<Option<_>>().map(|items| *self = items).is_some()
    }

    fn show(&self) -> Json {
        self.iter().map(T::to_json).collect()
    }

    fn compared_value(&self) -> Json {
        self.iter().map(T::to_compared).collect()
    }

    fn schema(&self) -> Json {
        json!({"type": "array", "items": T::schema()})
    }
}
