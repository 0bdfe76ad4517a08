//! The catalogue: functions of tasks and operators of expressions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A function that tasks can call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CatalogueEntry)]
pub struct FunctionDescription {
    /// Name of the function.
    pub name: String,
    /// `connector`, `control`, `data`, `compute` or `utility`.
    pub category: String,
    /// The part of the service that defines it.
    pub source: String,
    /// Other names that it is accepted by.
    pub aliases: Vec<String>,
    /// `pure`, `read`, `idempotent_write`, `unsafe_write` or `depends_on` with the deciding input.
    pub retry_safety: String,
    /// A description for people.
    pub description: String,
    /// Its inputs; absent for built-ins unless `all=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub input_fields: Option<Vec<FunctionInput>>,
    /// The application that defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plugin: Option<FunctionPlugin>,
}

/// An input of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FunctionInput {
    /// Its name; `field[].member` for a member of the items of a field.
    pub name: String,
    /// The type that the value must evaluate to.
    pub kind: String,
    /// `true` if the input is required.
    pub required: bool,
    /// `true` if `{"var": path}` is folded before use.
    pub resolvable: bool,
    /// Paths inside the field that are expressions.
    pub template_at: Vec<String>,
    /// Paths inside the field that hold key material.
    pub secret_at: Vec<String>,
    /// Its other name.
    #[schema(required = true)]
    pub alias: Option<String>,
    /// A description for people.
    pub description: String,
}

/// The application that defines a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FunctionPlugin {
    /// Id of the application.
    pub id: String,
    /// Version of the application.
    pub version: String,
    /// Hash of the declarations of the application.
    pub digest: String,
}

/// The JSON Schema of a kind of document, for editors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentSchema {
    /// The kind of document.
    pub kind: String,
    /// Its JSON Schema (2020-12), with the functions of this service.
    #[schema(value_type = Object)]
    pub schema: Value,
}

/// An operator of expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Operator)]
pub struct OperatorDescription {
    /// Name of the operator.
    pub name: String,
    /// Its group.
    pub category: String,
    /// The number of its operands.
    pub arity: OperatorArity,
    /// A description for people.
    pub description: String,
    /// An expression with its data and its result.
    pub example: OperatorExample,
}

/// The number of operands of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorArity {
    /// The least number.
    pub min: usize,
    /// The greatest number; `null` without a bound.
    #[schema(required = true)]
    pub max: Option<usize>,
}

/// An example of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OperatorExample {
    /// The expression.
    #[schema(value_type = Value)]
    pub logic: Value,
    /// The `data` of the message.
    #[schema(value_type = Value)]
    pub data: Value,
    /// The result; absent if it differs from time to time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}
