//! Endpoints of the catalogue.

use crate::endpoint::{Answer, Endpoint, Method, SchemaSource, Tag};
use crate::entities::functions::{DocumentSchema, FunctionDescription, OperatorDescription};
use crate::envelope::{DataEnvelope, ListEnvelope};
use crate::parameter::ParameterKind::Boolean;
use crate::parameter::{PathParameter, QueryParameter};

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
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/schemas/{kind}",
        "getDocumentSchema",
        Tag::Functions,
        "Shows the JSON Schema of a kind of document, for editors",
    )
    .describes("The same as `svc-server schema`, with the functions of the service that answers.")
    .path_parameters(&[PathParameter::new(
        "kind",
        "`channel`, `workflow`, `connector`, `shared` or `case`",
        "workflow",
    )])
    .answers(&[Answer::json(
        200,
        "The schema",
        &[SchemaSource::for_type::<DataEnvelope<DocumentSchema>>()],
    )]),
];
