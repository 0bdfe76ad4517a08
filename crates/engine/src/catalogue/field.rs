//! One row of a function's table of inputs.

use serde_json::{Value, json};

use super::sent::{DefaultInput, SentForm};

/// The JSON type that an input must evaluate to.
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
    /// Returns the name in the catalogue.
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

    /// Returns `true` if a JSON value is of this kind.
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
    /// The path is written; `alone` is true if a single segment has to be a root that exists.
    Target {
        /// True if a single segment has to be a root that exists.
        alone: bool,
    },
}

/// One input of a function.
#[derive(Debug, Clone, Copy)]
pub struct InputField {
    /// Its name in `function.input`.
    pub name: &'static str,
    /// The type that it must evaluate to.
    pub kind: InputKind,
    /// True for a required input.
    pub required: bool,
    /// True if `{"var": path}` nodes in it are folded, at any depth.
    pub resolvable: bool,
    /// True if an expression may be in the place of the value, of the whole input.
    pub template: bool,
    /// True for an expression.
    pub logic: bool,
    /// Paths inside it at which secret references and `{"secret": name}` are resolved.
    pub secret_at: &'static [&'static str],
    /// Its second spelling; one that ends in `_logic` is an expression.
    pub alias: Option<&'static str>,
    /// True if both spellings may be present; the second one then wins.
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
    /// For a document of the portable dialect: its members that are stored as they are. Operators elsewhere
    /// in it belong to the dialect.
    pub dialect_data: Option<&'static [&'static str]>,
    /// The shape of its value, if the kind says too little about it. Only schemas for editors read it: the code of
    /// the function checks the value.
    pub shape: Option<InputShape>,
    /// The form in which it is sent.
    pub sent_as: SentForm,
    /// The value that is sent if a task does not name it.
    pub default: Option<DefaultInput>,
    /// The flag of the same task or element with which it is not sent, nor required.
    pub unless: Option<&'static str>,
    /// One line.
    pub description: &'static str,
}

/// The shapes of values that the code of a function checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputShape {
    /// A text or a list of texts, or expressions that yield them.
    Texts,
    /// A list of texts.
    TextList,
    /// A number of seconds, or a text such as `15m`.
    Duration,
    /// The claims of a token.
    Claims,
    /// The keys that a token may be signed with.
    VerifyingKeys,
    /// A document of the portable dialect that reads rows.
    QueryDocument,
    /// A document of the portable dialect that writes rows.
    WriteDocument,
    /// The tables and columns of the entities of a document.
    EntityMap,
}

impl InputShape {
    /// All shapes.
    pub const ALL: [Self; 8] = [
        Self::Texts,
        Self::TextList,
        Self::Duration,
        Self::Claims,
        Self::VerifyingKeys,
        Self::QueryDocument,
        Self::WriteDocument,
        Self::EntityMap,
    ];
}

impl InputField {
    /// Creates an optional input of a kind.
    pub const fn new(name: &'static str, kind: InputKind, description: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            resolvable: false,
            template: false,
            logic: false,
            secret_at: &[],
            alias: None,
            alias_wins: false,
            one_of: &[],
            members: &[],
            is_condition: false,
            path: PathUse::None,
            holds_logic: false,
            dialect_data: None,
            shape: None,
            sent_as: SentForm::Value,
            default: None,
            unless: None,
            description,
        }
    }

    /// Creates an input that is a text.
    pub const fn string(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::String, description)
    }

    /// Creates an input that is a number.
    pub const fn number(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Number, description)
    }

    /// Creates an input that is a boolean.
    pub const fn bool(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Bool, description)
    }

    /// Creates an input that is an object.
    pub const fn object(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Object, description)
    }

    /// Creates an input that is an array.
    pub const fn array(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Array, description)
    }

    /// Creates an input of any kind.
    pub const fn any(name: &'static str, description: &'static str) -> Self {
        Self::new(name, InputKind::Any, description)
    }

    /// Creates an input that is an expression.
    pub const fn logic(name: &'static str, description: &'static str) -> Self {
        Self { logic: true, ..Self::any(name, description) }
    }

    /// Creates an input that is a condition: an expression of which only `true` counts.
    pub const fn condition(name: &'static str, description: &'static str) -> Self {
        Self { is_condition: true, ..Self::logic(name, description) }
    }

    /// Creates the required input `connector`: a name, never computed.
    pub const fn connector(description: &'static str) -> Self {
        Self::string("connector", description).required()
    }

    /// Creates the input `output`: the path that the result is written to.
    pub const fn output() -> Self {
        Self::string(
            "output",
            "Path the result is written to; without it the result replaces the whole of data",
        )
        .path(PathUse::Target { alone: false })
        .sent_as(SentForm::Unsent)
    }

    /// Creates the input `timeout_ms`: the time that the call may take.
    pub const fn timeout(description: &'static str) -> Self {
        Self::number("timeout_ms", description).sent_as(SentForm::Unsent)
    }

    /// Declares the input a path of the message.
    #[must_use]
    pub const fn path(self, path: PathUse) -> Self {
        Self { path, ..self }
    }

    /// Makes the input required.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Folds `{"var": path}` nodes inside the input, at any depth.
    #[must_use]
    pub const fn resolvable(self) -> Self {
        Self { resolvable: true, ..self }
    }

    /// Accepts an expression in the place of a scalar. What it yields must be of the input's kind.
    #[must_use]
    pub const fn computed(self) -> Self {
        Self { template: true, ..self }
    }

    /// Names the paths inside the input at which secrets are resolved: `""` for the input itself, `[].key`
    /// for a member of each element.
    #[must_use]
    pub const fn secret_at(self, secret_at: &'static [&'static str]) -> Self {
        Self { secret_at, ..self }
    }

    /// Adds a second spelling.
    #[must_use]
    pub const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// Adds a second spelling that may be given with the first and then wins.
    #[must_use]
    pub const fn overridden_by(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), alias_wins: true, ..self }
    }

    /// Restricts a text to these values.
    #[must_use]
    pub const fn one_of(self, one_of: &'static [&'static str]) -> Self {
        Self { one_of, ..self }
    }

    /// Declares the inputs of each element, for an array of objects.
    #[must_use]
    pub const fn each(self, members: &'static [InputField]) -> Self {
        Self { members, ..self }
    }

    /// Declares the members of an object expressions.
    #[must_use]
    pub const fn of_logic(self) -> Self {
        Self { holds_logic: true, ..self }
    }

    /// Makes this a document of the portable dialect; only the members `stored` hold data.
    #[must_use]
    pub const fn dialect(self, stored: &'static [&'static str]) -> Self {
        Self { dialect_data: Some(stored), ..self }
    }

    /// Declares the shape of the value.
    #[must_use]
    pub const fn shape(self, shape: InputShape) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// Declares the form in which the value is sent.
    #[must_use]
    pub const fn sent_as(self, sent_as: SentForm) -> Self {
        Self { sent_as, ..self }
    }

    /// Declares the value that is sent if a task does not name the input.
    #[must_use]
    pub const fn or_default(self, default: DefaultInput) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Declares the flag of the same task or element with which it is not required, and nothing is sent, the default
    /// neither.
    #[must_use]
    pub const fn unless(self, flag: &'static str) -> Self {
        Self { unless: Some(flag), ..self }
    }

    /// Returns `true` if a secret reference at a place of the input is resolved; `place` begins at the input,
    /// such as `.keys[0].key`.
    pub fn resolves_reference(&self, place: &str) -> bool {
        let Some(below) = place.strip_prefix('.').and_then(|place| place.strip_prefix(self.name)) else {
            return false;
        };
        self.secret_at.iter().any(|secret| match secret.strip_prefix("[]") {
            Some(member) => below.strip_prefix('[').and_then(|below| below.split_once(']')).is_some_and(
                |(index, rest)| rest == member && index.bytes().all(|byte| byte.is_ascii_digit()),
            ),
            None => {
                let is_item = self.kind == InputKind::Any && below.starts_with('[') && !below.contains('.');
                below.is_empty() || is_item
            }
        })
    }

    /// Returns `true` if the second spelling is an expression.
    pub(crate) fn alias_is_logic(&self) -> bool {
        self.alias.is_some_and(|alias| alias.ends_with("_logic"))
    }

    /// Returns the rows as the function list shows them. An expression that may replace the value of the
    /// field has a row of its own: of the two neither is required.
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
            "required": self.required && self.unless.is_none(),
            "resolvable": self.resolvable,
            "template_at": if self.template { &[""][..] } else { &[] },
            "secret_at": self.secret_at,
            "alias": self.alias,
            "description": self.description,
        })
    }
}
