//! Endpoints of the data plane. Its paths are those of the channels; the document shows them by name.

use serde_json::Value;

use crate::endpoint::{Access, Answer, Endpoint, Method, SchemaSource, Tag};
use crate::envelope::DataEnvelope;
use crate::parameter::{ParameterKind, PathParameter, QueryParameter};
use crate::runs::data::{RunResponse, SubmissionReceipt, SubmissionState};

const CHANNEL: &[PathParameter] = &[PathParameter::new(
    "channel",
    "Name of the channel; a route of the channel may replace it",
    "greetings",
)];

const RUN: &str = "The body is the payload, the query and the headers are metadata. A channel may take another body, shape \
                   the response with another status, and answer with error bodies of its own.";

/// Statuses with which guards refuse.
const REFUSALS: &[u16] = &[401, 403, 405, 409, 413, 415, 504];

const RUN_ANSWERS: &[Answer] = &[Answer::json(
    200,
    "The result, or the response that the workflow shaped",
    &[SchemaSource::for_type::<RunResponse>(), ANY],
)];

/// A response that a workflow shaped.
const ANY: SchemaSource = SchemaSource::for_type::<Value>();

const fn run(method: Method, id: &'static str) -> Endpoint {
    Endpoint::new(method, "/api/v1/data/{channel}", id, Tag::Data, "Runs a channel and waits for the result")
        .describes(RUN)
        .with_access(Access::Channel)
        .path_parameters(CHANNEL)
        .answers(RUN_ANSWERS)
        .refuses(REFUSALS)
}

const EXAMPLE: &str = r#"{"name": "Ada"}"#;

pub(super) const ENDPOINTS: &[Endpoint] = &[
    run(Method::Get, "runChannelByGet"),
    run(Method::Post, "runChannel").may_take::<Value>(EXAMPLE),
    run(Method::Put, "runChannelByPut").may_take::<Value>(EXAMPLE),
    run(Method::Patch, "runChannelByPatch").may_take::<Value>(EXAMPLE),
    run(Method::Delete, "runChannelByDelete"),
    Endpoint::new(
        Method::Post,
        "/api/v1/data/{channel}/async",
        "submit",
        Tag::Data,
        "Accepts work for a channel",
    )
    .describes("The run is accepted once it is stored. `Location` is the address of its state.")
    .with_access(Access::Channel)
    .path_parameters(CHANNEL)
    .may_take::<Value>(EXAMPLE)
    .answers(&[Answer::json(
        202,
        "The submission is stored",
        &[SchemaSource::for_type::<SubmissionReceipt>()],
    )])
    .refuses(REFUSALS),
    Endpoint::new(
        Method::Get,
        "/api/v1/data/{channel}/async/{id}",
        "getSubmission",
        Tag::Data,
        "Reads the state of a submission",
    )
    .describes(
        "Answers whatever the state is, with `retry-after` until it has ended. An unknown id and a token that does not fit \
         are the same 404.",
    )
    .with_access(Access::Token)
    .path_parameters(&[
        PathParameter::new("channel", "Name of the channel, or a route of it", "greetings"),
        PathParameter::new("id", "Id of the submission", "0190a1b2-0000-7000-8000-000000000000"),
    ])
    .with_query(&[QueryParameter::new(
        "token",
        ParameterKind::Text,
        "The token of the submission, if the header `x-trace-token` cannot be sent",
    )])
    .answers(&[Answer::json(
        200,
        "The state of the submission",
        &[SchemaSource::for_type::<DataEnvelope<SubmissionState>>()],
    )]),
];
