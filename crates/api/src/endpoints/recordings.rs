//! Endpoints of recorded runs and of backtests over them.

use crate::endpoint::{
    Answer, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET, SchemaSource, Tag,
};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::parameter::ParameterKind::{Moment, Natural, OneOf, Text};
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::backtests::{BacktestDetail, BacktestRequest, BacktestStarted};
use crate::runs::recordings::{DeletedRecordings, RecordingDetail, RecordingSummary};

const ID: &[PathParameter] =
    &[PathParameter::new("id", "Id of the recording", "0190a1b2-0000-7000-8000-000000000000")];

const CHANNEL: QueryParameter =
    QueryParameter::new("channel", Text, "Only recordings of the channel of this name");
const RUN_KEY: QueryParameter =
    QueryParameter::new("run_key", Text, "Only recordings of the runs with this key, `metadata.run.key`");

const WORKFLOW: &[PathParameter] = &[PathParameter::new("id", "Id of the workflow", "greeting")];

const BACKTEST: &[PathParameter] =
    &[PathParameter::new("id", "Id of the backtest", "0190a1b2-0000-7000-8000-000000000000")];

/// The ends of recorded runs.
const OUTCOMES: &[&str] = &["completed", "failed", "timed_out", "cancelled"];

const CHANNEL_ID: &[PathParameter] = &[PathParameter::new("id", "Id of the channel", "orders")];

/// The answer to a start.
const STARTED: Answer = Answer::json(
    202,
    "The backtest is on record",
    &[SchemaSource::for_type::<DataEnvelope<BacktestStarted>>()],
);

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/recordings",
        "listRecordings",
        Tag::Traces,
        "Lists the recorded runs, newest first",
    )
    .describes("A read-only key is refused: recordings hold what callers sent and systems answered.")
    .with_query(&[
        CHANNEL,
        RUN_KEY,
        QueryParameter::new("workflow", Text, "Only recordings of this workflow"),
        QueryParameter::new("version", Natural, "Only recordings of this version of the workflow"),
        QueryParameter::new("outcome", OneOf(OUTCOMES), "Only recordings of runs with this end"),
        QueryParameter::new("since", Moment, "Only recordings written at this instant or later"),
        QueryParameter::new("until", Moment, "Only recordings written before this instant"),
        LIMIT,
        OFFSET,
    ])
    .answers(&[Answer::json(
        200,
        "A page of recordings",
        &[SchemaSource::for_type::<PageEnvelope<RecordingSummary>>()],
    )])
    .refuses(&[403]),
    Endpoint::new(
        Method::Delete,
        "/api/v1/admin/recordings",
        "deleteRecordings",
        Tag::Traces,
        "Deletes the recordings of a channel or of a run",
    )
    .describes("One of `channel` and `run_key` is required.")
    .with_query(&[CHANNEL, RUN_KEY, DRY_RUN_PARAMETER])
    .answers(&[Answer::json(
        200,
        "The number of deleted recordings; with `dry_run=true` the report",
        &[SchemaSource::for_type::<DataEnvelope<DeletedRecordings>>(), DRY_RUN_REPORT],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/recordings/{id}",
        "getRecording",
        Tag::Traces,
        "Reads a recorded run with its calls",
    )
    .describes("A read-only key is refused.")
    .path_parameters(ID)
    .answers(&[Answer::json(
        200,
        "The recording",
        &[SchemaSource::for_type::<DataEnvelope<RecordingDetail>>()],
    )])
    .refuses(&[403]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/workflows/{id}/backtest",
        "startBacktest",
        Tag::Traces,
        "Runs a version of a workflow over recorded runs, with their answers",
    )
    .describes(
        "Nothing is called. A node makes one backtest at a time, the oldest first; another node goes on with it after \
         the death of the first. An eleventh that has not ended is refused.",
    )
    .path_parameters(WORKFLOW)
    .with_query(&[NO_DRY_RUN])
    .takes::<BacktestRequest>(r#"{"version": "draft", "filter": {"outcome": "completed"}, "limit": 1000}"#)
    .answers(&[STARTED])
    .refuses(&[409]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/channels/{id}/backtest",
        "startChannelBacktest",
        Tag::Traces,
        "Runs a version of a channel with its workflow over recorded runs",
    )
    .describes(
        "`request.schema` and `validation_logic` judge each recorded message; a message that they refuse is a \
         `new-error`. The report names the guards that cannot be judged, because what they look at is not recorded. The \
         workflow is the version of it that serves.",
    )
    .path_parameters(CHANNEL_ID)
    .with_query(&[NO_DRY_RUN])
    .takes::<BacktestRequest>(r#"{"version": "draft", "filter": {"outcome": "completed"}, "limit": 1000}"#)
    .answers(&[STARTED])
    .refuses(&[409]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/backtests",
        "listBacktests",
        Tag::Traces,
        "Lists the backtests without their reports, newest first",
    )
    .describes("A read-only key is refused.")
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(
        200,
        "A page of backtests",
        &[SchemaSource::for_type::<PageEnvelope<BacktestDetail>>()],
    )])
    .refuses(&[403]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/backtests/{id}",
        "getBacktest",
        Tag::Traces,
        "Reads the progress of a backtest, and its report so far",
    )
    .describes("A read-only key is refused.")
    .path_parameters(BACKTEST)
    .answers(&[Answer::json(200, "The backtest", &[SchemaSource::for_type::<DataEnvelope<BacktestDetail>>()])])
    .refuses(&[403]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/backtests/{id}/abort",
        "abortBacktest",
        Tag::Traces,
        "Ends a backtest within a second; the report so far is kept",
    )
    .path_parameters(BACKTEST)
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(200, "The backtest", &[SchemaSource::for_type::<DataEnvelope<BacktestDetail>>()])])
    .refuses(&[409]),
];
