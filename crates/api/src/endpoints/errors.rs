//! The endpoint of error groups.

use crate::endpoint::{Answer, Endpoint, LIMIT, Method, OFFSET, SchemaSource, Tag};
use crate::envelope::PageEnvelope;
use crate::error_groups::ErrorGroupSummary;
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::QueryParameter;

pub(super) const ENDPOINTS: &[Endpoint] = &[Endpoint::new(
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
)])];
