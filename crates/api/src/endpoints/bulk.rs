//! Endpoints of actions on many rows.

use crate::bulk::{BulkDryRun, BulkRequest, BulkRunDetail, BulkStarted};
use crate::endpoint::{
    Answer, DRY_RUN_PARAMETER, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET, SchemaSource, Tag,
};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::parameter::PathParameter;

const ID: &[PathParameter] =
    &[PathParameter::new("id", "Id of the bulk run", "0190a1b2-0000-7000-8000-000000000000")];

const RUN: SchemaSource = SchemaSource::for_type::<DataEnvelope<BulkRunDetail>>();

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/bulk",
        "listBulkRuns",
        Tag::Bulk,
        "Lists the bulk runs and backfills, newest first",
    )
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(
        200,
        "A page of bulk runs",
        &[SchemaSource::for_type::<PageEnvelope<BulkRunDetail>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/bulk",
        "startBulkRun",
        Tag::Bulk,
        "Acts on every row that a filter selects",
    )
    .describes(
        "The run acts on the rows that match at its start, in the order of their creation. A row that has changed since \
         then is skipped. The run goes on after the death of the node that drives it, and acts on no row twice. A third \
         run at the same time is refused (`bulk.max_running`). An empty filter needs `\"all\": true`.",
    )
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<BulkRequest>(r#"{"kind": "dead_letters", "action": "requeue", "filter": {"channel": "orders"}}"#)
    .answers(&[
        Answer::json(
            200,
            "With `dry_run`: the number of the rows, and the oldest of them",
            &[SchemaSource::for_type::<DataEnvelope<BulkDryRun>>()],
        ),
        Answer::json(202, "The run has begun", &[SchemaSource::for_type::<DataEnvelope<BulkStarted>>()]),
    ])
    .refuses(&[409]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/bulk/{id}",
        "getBulkRun",
        Tag::Bulk,
        "Reads the progress of a bulk run",
    )
    .path_parameters(ID)
    .answers(&[Answer::json(200, "The run", &[RUN])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/bulk/{id}/abort",
        "abortBulkRun",
        Tag::Bulk,
        "Ends a bulk run before its next page; the rows done so far stay done",
    )
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(200, "The run", &[RUN])])
    .refuses(&[409]),
];
