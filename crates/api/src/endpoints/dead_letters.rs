//! Endpoints of dead letters and of error groups.

use crate::endpoint::{
    Answer, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, LIMIT, Method, OFFSET, SchemaSource, TOTAL, Tag,
};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::error_groups::ErrorGroupSummary;
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::ParameterKind::Boolean;
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::dead_letters::{DeadLetterDetail, DeadLetterListEnvelope, PurgeRequest, PurgeResult};

const LETTER: &[PathParameter] =
    &[PathParameter::new("id", "Id of the dead letter", "0190a1b2-0000-7000-8000-000000000000")];

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/trace-dlq",
        "listDeadLetters",
        Tag::DeadLetters,
        "Lists the dead letters, newest first",
    )
    .describes(
        "The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call \
         reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.",
    )
    .with_query(parameters_of!(
        FilteredList::DeadLetters,
        &[
            QueryParameter::new(
                "exhausted",
                Boolean,
                "`true` lists letters without a retry left, `false` those with one",
            ),
            LIMIT,
            OFFSET,
            TOTAL,
        ]
    ))
    .answers(&[Answer::json(
        200,
        "A page of dead letters",
        &[SchemaSource::for_type::<DeadLetterListEnvelope>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/trace-dlq/purge",
        "purgeDeadLetters",
        Tag::DeadLetters,
        "Deletes dead letters that have no retry left",
    )
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<PurgeRequest>(r#"{"older_than_hours": 720}"#)
    .answers(&[Answer::json(
        200,
        "The number of deleted letters; with `dry_run=true` the report",
        &[SchemaSource::for_type::<DataEnvelope<PurgeResult>>(), DRY_RUN_REPORT],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/trace-dlq/{id}",
        "getDeadLetter",
        Tag::DeadLetters,
        "Reads a dead letter with its payload",
    )
    .path_parameters(LETTER)
    .answers(&[Answer::json(
        200,
        "The dead letter",
        &[SchemaSource::for_type::<DataEnvelope<DeadLetterDetail>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/trace-dlq/{id}/requeue",
        "requeueDeadLetter",
        Tag::DeadLetters,
        "Makes a dead letter due at once, with all its retries again",
    )
    .path_parameters(LETTER)
    .with_query(&[DRY_RUN_PARAMETER])
    .answers(&[Answer::json(
        200,
        "The dead letter; with `dry_run=true` the report",
        &[SchemaSource::for_type::<DataEnvelope<DeadLetterDetail>>(), DRY_RUN_REPORT],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/errors",
        "listErrors",
        Tag::Traces,
        "Lists failures grouped by their cause, the most frequent first",
    )
    .describes(
        "Failed traces, dead letters, failed occurrences and the Kafka records that this node holds back, each failure once. \
         What leaves no trace is in no group: synchronous runs of channels that do not record them, and failures of earlier \
         releases.",
    )
    .with_query(parameters_of!(FilteredList::Errors, &[LIMIT, OFFSET]))
    .answers(&[Answer::json(
        200,
        "A page of groups",
        &[SchemaSource::for_type::<PageEnvelope<ErrorGroupSummary>>()],
    )]),
];
