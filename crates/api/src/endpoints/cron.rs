//! Endpoints of schedules.

use crate::cron::{OccurrenceDetail, OccurrenceListEnvelope, ScheduleSummary};
use crate::endpoint::{Answer, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET, SchemaSource, Tag};
use crate::envelope::{DataEnvelope, ListEnvelope};
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::ParameterKind::Texts;
use crate::parameter::{PathParameter, QueryParameter};

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
    .describes("The list can be read on from `next_cursor`, which an `offset` excludes.")
    .with_query(parameters_of!(
        FilteredList::Occurrences,
        &[QueryParameter::new("channel_id", Texts, "Only occurrences of these channels"), LIMIT, OFFSET]
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
        "Makes another attempt at a failed or skipped occurrence",
    )
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(
        200,
        "The occurrence, pending again",
        &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()],
    )])
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
