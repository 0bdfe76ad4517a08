//! Endpoints of schedules.

use crate::endpoint::{Answer, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET, SchemaSource, TOTAL, Tag};
use crate::envelope::{DataEnvelope, ListEnvelope};
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::ParameterKind::{Boolean, Texts};
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::cron::{OccurrenceDetail, OccurrenceListEnvelope, OccurrenceRetryRequest, ScheduleSummary};

const ID: &[PathParameter] =
    &[PathParameter::new("id", "Id of the occurrence", "0190a1b2-0000-7000-8000-000000000000")];

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/cron/occurrences",
        "listOccurrences",
        Tag::Cron,
        "Lists the occurrences of schedules, newest first",
    )
    .describes(
        "The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call \
         reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.",
    )
    .with_query(parameters_of!(
        FilteredList::Occurrences,
        &[
            QueryParameter::new("channel_id", Texts, "Only occurrences of these channels"),
            LIMIT,
            OFFSET,
            TOTAL,
        ]
    ))
    .answers(&[Answer::json(
        200,
        "A page of occurrences",
        &[SchemaSource::for_type::<OccurrenceListEnvelope>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/cron/occurrences/{id}",
        "getOccurrence",
        Tag::Cron,
        "Reads an occurrence",
    )
    .path_parameters(ID)
    .answers(&[Answer::json(
        200,
        "The occurrence",
        &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/cron/occurrences/{id}/retry",
        "retryOccurrence",
        Tag::Cron,
        "Makes another attempt at a failed, skipped or cancelled occurrence",
    )
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .may_take::<OccurrenceRetryRequest>(r#"{"version": "same"}"#)
    .answers(&[Answer::json(
        200,
        "The occurrence, pending again",
        &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()],
    )])
    .refuses(&[409]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/cron/occurrences/{id}/cancel",
        "cancelOccurrence",
        Tag::Cron,
        "Cancels an occurrence that has not ended",
    )
    .describes(
        "The run of one that runs is dropped on whatever node, its claim is cleared and its slot freed. It can be \
         retried afterwards.",
    )
    .path_parameters(ID)
    .with_query(&[
        QueryParameter::new("report", Boolean, "`true` tells the channel that `on_failure` names"),
        NO_DRY_RUN,
    ])
    .answers(&[
        Answer::json(
            200,
            "The occurrence, which has ended",
            &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()],
        ),
        Answer::json(
            202,
            "The occurrence, which has not ended within two seconds",
            &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()],
        ),
    ])
    .refuses(&[409]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/cron/status",
        "listSchedules",
        Tag::Cron,
        "Lists the schedules that this node has loaded",
    )
    .answers(&[Answer::json(
        200,
        "The schedules",
        &[SchemaSource::for_type::<ListEnvelope<ScheduleSummary>>()],
    )]),
];
