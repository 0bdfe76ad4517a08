//! Parameters of the path and the query of an endpoint.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat};
use utoipa::openapi::{Required, Type};

/// The values that a query parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// An integer; a value outside of the range is moved into it.
    Integer,
    /// A whole number, 0 or more.
    Natural,
    /// `true` or `false`.
    Boolean,
    /// RFC 3339, or without a zone, taken as UTC.
    Instant,
    /// RFC 3339, or the time before now, such as `-15m`.
    Moment,
    /// One of these names; any other is refused.
    OneOf(&'static [&'static str]),
    /// Several of these names, separated by commas or repeated; any other is refused.
    SeveralOf(&'static [&'static str]),
    /// Several texts, separated by commas or repeated.
    Texts,
    /// Several whole numbers, separated by commas or repeated.
    Naturals,
}

impl ParameterKind {
    /// Returns whether the parameter takes several values.
    pub const fn takes_several(self) -> bool {
        matches!(self, Self::SeveralOf(_) | Self::Texts | Self::Naturals)
    }

    /// Returns the names that the parameter takes; `None` if it takes any.
    pub const fn names(self) -> Option<&'static [&'static str]> {
        match self {
            Self::OneOf(names) | Self::SeveralOf(names) => Some(names),
            _ => None,
        }
    }
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryParameter {
    /// Its name.
    pub name: &'static str,
    /// The values it takes.
    pub kind: ParameterKind,
    /// A description for people.
    pub description: &'static str,
    /// `true` if the document names it in the text of the operation alone. A generator of requests that breaks the
    /// schema of a body expects a refusal, and a dry run reports what it would refuse.
    pub in_text_alone: bool,
}

impl QueryParameter {
    /// Creates a parameter.
    pub const fn new(name: &'static str, kind: ParameterKind, description: &'static str) -> Self {
        Self { name, kind, description, in_text_alone: false }
    }

    /// Returns the name that a text means, whatever its case; `None` for one that the parameter does not take, or if it
    /// takes any.
    pub fn spelling(&self, text: &str) -> Option<&'static str> {
        self.kind.names()?.iter().copied().find(|name| name.eq_ignore_ascii_case(text))
    }

    /// Returns the parameter, named in the text of the operation alone.
    pub(crate) const fn in_text_alone(mut self) -> Self {
        self.in_text_alone = true;
        self
    }

    /// Returns the description for the document.
    pub(crate) fn to_openapi(self) -> Parameter {
        let schema = match self.kind {
            ParameterKind::Text | ParameterKind::Moment => ObjectBuilder::new().schema_type(Type::String),
            ParameterKind::Integer => ObjectBuilder::new().schema_type(Type::Integer),
            ParameterKind::Natural => ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)),
            ParameterKind::Boolean => ObjectBuilder::new().schema_type(Type::Boolean),
            ParameterKind::Instant => ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))),
            ParameterKind::OneOf(names) | ParameterKind::SeveralOf(names) => {
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied()))
            }
            ParameterKind::Texts => ObjectBuilder::new().schema_type(Type::String),
            ParameterKind::Naturals => ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)),
        };
        let parameter = ParameterBuilder::new()
            .name(self.name)
            .parameter_in(ParameterIn::Query)
            .required(Required::False)
            .description(Some(self.description));
        if self.kind.takes_several() {
            let values = ArrayBuilder::new().items(schema);
            return parameter
                .schema(Some(values))
                .style(Some(ParameterStyle::Form))
                .explode(Some(false))
                .build();
        }
        parameter.schema(Some(schema)).build()
    }
}

/// Returns the description of an optional header of requests for the document.
pub(crate) fn header_parameter(name: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

/// A parameter of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathParameter {
    /// Its name, as between the braces of the path.
    pub name: &'static str,
    /// A description for people.
    pub description: &'static str,
    /// A value with which the examples run.
    pub example: &'static str,
}

impl PathParameter {
    /// Creates a parameter.
    pub const fn new(name: &'static str, description: &'static str, example: &'static str) -> Self {
        Self { name, description, example }
    }

    /// Returns the description for the document.
    pub(crate) fn to_openapi(self) -> Parameter {
        ParameterBuilder::new()
            .name(self.name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(self.description))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .example(Some(self.example.into()))
            .build()
    }
}
