//! One row of a function's table of inputs.

use serde_json::{Value, json};

/// What an input must evaluate to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Text.
    String,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// An object.
    Object,
    /// An array.
    Array,
    /// Anything.
    Any,
}

impl InputKind {
    /// The word of the catalogue.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Object => "object",
            Self::Array => "array",
            Self::Any => "any",
        }
    }

    /// Whether a JSON value is of this kind.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Any => true,
        }
    }
}

/// The use that a function makes of a path that an input names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// The input names no path that begins at a root of the message.
    None,
    /// The path is read.
    Source,
    /// The path is written; `alone` tells whether a single segment has to be a root that exists.
    Target {
        /// True where a single segment has to be a root that exists.
        alone: bool,
    },
}

/// One input of a function.
#[derive(Debug, Clone, Copy)]
pub struct InputField {
    /// Its name in `function.input`.
    pub name: &'static str,
    /// What it must evaluate to.
    pub kind: InputKind,
    /// Whether it must be there.
    pub required: bool,
    /// Whether `{"var": path}` nodes in it are folded, at any depth.
    pub resolvable: bool,
    /// Whether it is an expression.
    pub logic: bool,
    /// Paths inside it where secret references and `{"secret": name}` are resolved.
    pub secret_at: &'static [&'static str],
    /// Its second spelling; one that ends in `_logic` is an expression.
    pub alias: Option<&'static str>,
    /// Whether both spellings may be there, the second of which counts.
    pub alias_wins: bool,
    /// The texts it may be; empty = any.
    pub one_of: &'static [&'static str],
    /// The inputs of each element, for an array of objects.
    pub members: &'static [InputField],
    /// True for an expression of which only the truth counts.
    pub is_condition: bool,
    /// The use of the path it names.
    pub path: PathUse,
    /// True for an object whose members are expressions.
    pub holds_logic: bool,
    /// One line.
    pub description: &'static str,
}

impl InputField {
    pub(super) const fn new(name: &'static str, kind: InputKind, description: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            resolvable: false,
            logic: false,
            secret_at: &[],
            alias: None,
            alias_wins: false,
            one_of: &[],
            members: &[],
            is_condition: false,
            path: PathUse::None,
            holds_logic: false,
            description,
        }
    }

    pub(super) const fn string(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::String, description)
    }

    pub(super) const fn number(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Number, description)
    }

    pub(super) const fn bool(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Bool, description)
    }

    pub(super) const fn object(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Object, description)
    }

    pub(super) const fn array(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Array, description)
    }

    pub(super) const fn any(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Any, description)
    }

    /// An expression.
    pub(super) const fn logic(name: &'static str, description: &'static str) -> Self {
        Self { logic: true, ..Self::any(name, description) }
    }

    /// An expression of which only the truth counts.
    pub(super) const fn condition(name: &'static str, description: &'static str) -> Self {
        Self { is_condition: true, ..Self::logic(name, description) }
    }

    /// The name of a connector, never computed.
    pub(super) const fn connector(description: &'static str) -> Self {
        Self::string("connector", description).required()
    }

    /// Where the result is written.
    pub(super) const fn output() -> Self {
        Self::string(
            "output",
            "Path the result is written to; without it the result replaces the whole of data",
        )
        .path(PathUse::Target { alone: false })
    }

    /// A path of the message.
    pub(super) const fn path(self, path: PathUse) -> Self {
        Self { path, ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(super) const fn resolvable(self) -> Self {
        Self { resolvable: true, ..self }
    }

    pub(super) const fn secret_at(self, secret_at: &'static [&'static str]) -> Self {
        Self { secret_at, ..self }
    }

    pub(super) const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// A second spelling that may stand beside the first, and counts then.
    pub(super) const fn overridden_by(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), alias_wins: true, ..self }
    }

    pub(super) const fn one_of(self, one_of: &'static [&'static str]) -> Self {
        Self { one_of, ..self }
    }

    /// An array of objects with these members.
    pub(super) const fn each(self, members: &'static [InputField]) -> Self {
        Self { members, ..self }
    }

    /// An object whose members are expressions.
    pub(super) const fn of_logic(self) -> Self {
        Self { holds_logic: true, ..self }
    }

    /// Whether the second spelling is an expression.
    pub(crate) fn alias_is_logic(&self) -> bool {
        self.alias.is_some_and(|alias| alias.ends_with("_logic"))
    }

    /// The rows as the function list shows them. An expression that may stand in the place of the field has a row of its own:
    /// of the two neither is required.
    pub fn to_json(&self) -> Vec<Value> {
        let logic = self.alias.filter(|_| self.alias_is_logic());
        let own = Self {
            alias: self.alias.filter(|_| logic.is_none()),
            required: self.required && logic.is_none(),
            ..*self
        };
        let logic = logic.map(|name| Self::logic(name, "Expression for the field it is named after"));
        let rows = [Some(own), logic].into_iter().flatten().map(|field| field.row(field.name));
        let members =
            self.members.iter().map(|member| member.row(&format!("{}[].{}", self.name, member.name)));
        rows.chain(members).collect()
    }

    fn row(&self, name: &str) -> Value {
        json!({
            "name": name,
            "kind": self.kind.name(),
            "required": self.required,
            "resolvable": self.resolvable,
            "template_at": [],
            "secret_at": self.secret_at,
            "alias": self.alias,
            "description": self.description,
        })
    }
}
