//! Endpoints of the catalogue.

use crate::endpoint::{Answer, Endpoint, Method, SchemaSource, Tag};
use crate::entities::functions::{FunctionDescription, OperatorDescription};
use crate::envelope::ListEnvelope;
use crate::parameter::ParameterKind::Boolean;
use crate::parameter::QueryParameter;

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/functions",
        "listFunctions",
        Tag::Functions,
        "Lists the functions that tasks can call",
    )
    .with_query(&[QueryParameter::new("all", Boolean, "`true` shows the inputs of built-ins too")])
    .answers(&[Answer::json(
        200,
        "The functions",
        &[SchemaSource::for_type::<ListEnvelope<FunctionDescription>>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/functions/operators",
        "listOperators",
        Tag::Functions,
        "Lists the operators of expressions",
    )
    .answers(&[Answer::json(
        200,
        "The operators",
        &[SchemaSource::for_type::<ListEnvelope<OperatorDescription>>()],
    )]),
];
