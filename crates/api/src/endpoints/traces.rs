//! Endpoints of traces.

use crate::endpoint::{
    Access, Answer, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET, SORT_ORDER, SchemaSource, Tag, sort_by,
};
use crate::envelope::DataEnvelope;
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::ParameterKind::{Boolean, Naturals, Text, Texts};
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::data::SubmissionState;
use crate::runs::traces::{RerunAccepted, RerunRequest, TraceDetail, TraceListEnvelope};

/// The columns that order the list. What a row lacks is its smallest value.
const TRACE_COLUMNS: &[&str] = &[
    "created_at",
    "updated_at",
    "status",
    "channel",
    "mode",
    "duration_ms",
    "workflow_version",
    "error_code",
];

const ID: &[PathParameter] =
    &[PathParameter::new("id", "Id of the trace", "0190a1b2-0000-7000-8000-000000000000")];

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/traces",
        "listTraces",
        Tag::Traces,
        "Lists traces, newest first, without payloads",
    )
    .describes(
        "The default order, and its reverse with `order=asc`, can be read on from `next_cursor`, which an `offset` \
         excludes. Later attempts at accepted work are left out: the work has the state of the newest one. For words \
         that no index serves a call reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on \
         there even after an empty page.",
    )
    .with_query(parameters_of!(
        FilteredList::Traces,
        &[
            QueryParameter::new("workflow_id", Texts, "The same as `workflow`"),
            QueryParameter::new("workflow_version", Naturals, "The same as `version`"),
            sort_by(TRACE_COLUMNS),
            SORT_ORDER,
            LIMIT,
            OFFSET,
            QueryParameter::new("attempts", Boolean, "`true` lists later attempts at accepted work, too"),
            QueryParameter::new("include_total", Boolean, "`true` counts the matching rows"),
        ]
    ))
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
    .path_parameters(ID)
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
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/traces/{id}/cancel",
        "cancelTrace",
        Tag::Traces,
        "Cancels accepted work",
    )
    .describes(
        "Work that waits ends at once, and its dead letter goes with it. The run of a work that runs is dropped at its \
         next await, and in the middle of a computation, on whatever node; nothing is begun after that. What has ended, \
         synchronous runs and those of records are 409; the run of a schedule is cancelled by its occurrence.",
    )
    .path_parameters(ID)
    .with_query(&[
        QueryParameter::new(
            "report",
            Boolean,
            "`true` leaves a dead letter, and tells the channel that `on_failure` names",
        ),
        NO_DRY_RUN,
    ])
    .answers(&[
        Answer::json(200, "The trace, which has ended", &[SchemaSource::for_type::<DataEnvelope<TraceDetail>>()]),
        Answer::json(
            202,
            "The trace, which has not ended within two seconds",
            &[SchemaSource::for_type::<DataEnvelope<TraceDetail>>()],
        ),
    ])
    .refuses(&[409]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/traces/{id}/rerun",
        "rerunTrace",
        Tag::Traces,
        "Runs the stored input of a trace again, as accepted work of its own",
    )
    .describes(
        "Only what has ended and has no dead letter that waits is run again. Accepted work and schedules always have \
         their input, a synchronous run where its channel has `tracing.keep_input`. The rerun has a run key of its own, \
         passes the guards of a call with its channel as the caller, has the claims of then and the secrets of now.",
    )
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .takes::<RerunRequest>(r#"{"version": "current"}"#)
    .answers(&[Answer::json(
        202,
        "The rerun is accepted",
        &[SchemaSource::for_type::<DataEnvelope<RerunAccepted>>()],
    )])
    .refuses(&[409]),
];
