//! Endpoints of traces.

use crate::data::SubmissionState;
use crate::endpoint::{Access, Answer, Endpoint, LIMIT, Method, OFFSET, SORT_ORDER, SchemaSource, Tag};
use crate::envelope::DataEnvelope;
use crate::parameter::ParameterKind::{Boolean, Natural, Text};
use crate::parameter::{PathParameter, QueryParameter};
use crate::traces::{TraceDetail, TraceListEnvelope};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/traces",
        "listTraces",
        Tag::Traces,
        "Lists traces, newest first, without payloads",
    )
    .describes(
        "The default order can be read on from `next_cursor`, which an `offset` excludes. Later attempts at accepted \
         work are left out: the work has the state of the newest one.",
    )
    .with_query(&[
        QueryParameter::new("status", Text, "Only traces of this status"),
        QueryParameter::new("channel", Text, "Only traces of the channel of this name"),
        QueryParameter::new("mode", Text, "Only `sync`, `async`, `kafka` or `cron` runs"),
        QueryParameter::new("workflow_id", Text, "Only runs of this workflow"),
        QueryParameter::new("workflow_version", Natural, "Only runs of this version"),
        QueryParameter::new(
            "sort_by",
            Text,
            "`created_at`, `updated_at`, `status`, `channel` or `mode`; any other value is the first",
        ),
        SORT_ORDER,
        LIMIT,
        OFFSET,
        QueryParameter::new("cursor", Text, "`next_cursor` of the page before"),
        QueryParameter::new("attempts", Boolean, "`true` lists later attempts at accepted work, too"),
        QueryParameter::new("include_total", Boolean, "`true` counts the matching rows"),
    ])
    .answers(&[Answer::json(200, "A page of traces", &[SchemaSource::for_type::<TraceListEnvelope>()])]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/traces/{id}",
        "getTrace",
        Tag::Traces,
        "Reads a trace with its result",
    )
    .describes(
        "An admin key reads every trace. The token of a submission reads the state of that one, as the data plane shows it.",
    )
    .with_access(Access::TraceToken)
    .path_parameters(&[PathParameter::new("id", "Id of the trace", "0190a1b2-0000-7000-8000-000000000000")])
    .with_query(&[QueryParameter::new(
        "token",
        Text,
        "The token of the submission, where the header `x-trace-token` cannot be sent",
    )])
    .answers(&[Answer::json(
        200,
        "The trace, or the state of the submission",
        &[
            SchemaSource::for_type::<DataEnvelope<TraceDetail>>(),
            SchemaSource::for_type::<DataEnvelope<SubmissionState>>(),
        ],
    )]),
];
