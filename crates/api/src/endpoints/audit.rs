//! Endpoints of the audit log, and the caller as it records them.

use svc_model::{AuditAction, AuditResource};

use crate::endpoint::{Answer, Endpoint, LIMIT, Method, OFFSET, SchemaSource, TOTAL, Tag};
use crate::envelope::DataEnvelope;
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::ParameterKind::{Moment, SeveralOf, Texts};
use crate::parameter::QueryParameter;
use crate::server::audit::{AuditListEnvelope, CallerIdentity};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/audit-logs",
        "listAuditLogs",
        Tag::Audit,
        "Lists the audit log, newest first",
    )
    .describes(
        "The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call \
         reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.",
    )
    .with_query(parameters_of!(
        FilteredList::Audit,
        &[
            QueryParameter::new("action", SeveralOf(AuditAction::NAMES), "Only entries of these actions"),
            QueryParameter::new(
                "resource_type",
                SeveralOf(AuditResource::NAMES),
                "Only entries about resources of these types",
            ),
            QueryParameter::new("resource_id", Texts, "Only entries about these resources"),
            QueryParameter::new("principal", Texts, "Only entries of these callers"),
            QueryParameter::new("start_time", Moment, "The same as `since`"),
            QueryParameter::new("end_time", Moment, "The same as `until`"),
            LIMIT,
            OFFSET,
            TOTAL,
        ]
    ))
    .answers(&[Answer::json(200, "A page of entries", &[SchemaSource::for_type::<AuditListEnvelope>()])]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/whoami",
        "getCaller",
        Tag::Audit,
        "Shows the name under which the audit log records the caller",
    )
    .answers(&[Answer::json(
        200,
        "The caller",
        &[SchemaSource::for_type::<DataEnvelope<CallerIdentity>>()],
    )]),
];
