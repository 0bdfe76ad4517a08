//! Endpoints of the audit log, and the caller as it records them.

use svc_model::{AuditAction, AuditResource};

use crate::audit::{AuditLogEntry, CallerIdentity};
use crate::endpoint::{Answer, Endpoint, LIMIT, Method, OFFSET, SchemaSource, Tag};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::parameter::ParameterKind::{Instant, OneOf, Text};
use crate::parameter::QueryParameter;

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/audit-logs",
        "listAuditLogs",
        Tag::Audit,
        "Lists the audit log, newest first",
    )
    .with_query(&[
        QueryParameter::new("action", OneOf(AuditAction::NAMES), "Only entries of this action"),
        QueryParameter::new(
            "resource_type",
            OneOf(AuditResource::NAMES),
            "Only entries about resources of this type",
        ),
        QueryParameter::new("resource_id", Text, "Only entries about this resource"),
        QueryParameter::new("principal", Text, "Only entries of this caller"),
        QueryParameter::new("start_time", Instant, "Only entries from this instant on"),
        QueryParameter::new("end_time", Instant, "Only entries before this instant"),
        LIMIT,
        OFFSET,
    ])
    .answers(&[Answer::json(
        200,
        "A page of entries",
        &[SchemaSource::for_type::<PageEnvelope<AuditLogEntry>>()],
    )]),
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
