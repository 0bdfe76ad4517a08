//! Endpoints for operators: probes, health, metrics and the documentation of the API.

use serde_json::Value;

use crate::endpoint::{Access, Answer, Endpoint, Method, SchemaSource, Tag};
use crate::error::ErrorEnvelope;
use crate::parameter::PathParameter;
use crate::server::operational::{HealthReport, LivenessReport, ReadinessReport};

/// The error envelope that another response of the same status shares a status with.
const REFUSED: SchemaSource = SchemaSource::for_type::<ErrorEnvelope>();
const READINESS: SchemaSource = SchemaSource::for_type::<ReadinessReport>();
const HEALTH: SchemaSource = SchemaSource::for_type::<HealthReport>();

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(Method::Get, "/healthz", "getLiveness", Tag::Operational, "Reports that the process runs")
        .with_access(Access::Open)
        .answers(&[Answer::json(200, "The process runs", &[SchemaSource::for_type::<LivenessReport>()])]),
    Endpoint::new(
        Method::Get,
        "/readyz",
        "getReadiness",
        Tag::Operational,
        "Reports to a balancer if the node takes requests",
    )
    .with_access(Access::Open)
    .answers(&[
        Answer::json(200, "The node is ready", &[READINESS]),
        Answer::json(503, "The node is not ready", &[READINESS, REFUSED]),
    ]),
    Endpoint::new(
        Method::Get,
        "/health",
        "getHealth",
        Tag::Operational,
        "Shows the state of every component",
    )
    .describes("An admin key adds the details. A degraded node answers 200; only a lost database is a 503.")
    .with_access(Access::Optional)
    .answers(&[
        Answer::json(200, "The node serves", &[HEALTH]),
        Answer::json(503, "The database is away", &[HEALTH, REFUSED]),
    ]),
    Endpoint::new(
        Method::Get,
        "/metrics",
        "getMetrics",
        Tag::Operational,
        "Returns everything measured, as Prometheus text",
    )
    .describes(
        "Served if `metrics.enabled` is on and `metrics.bind_addr` names no listener of its own. OpenMetrics 1.0.0 with \
         exemplars for those whose `Accept` names it.",
    )
    .answers(&[Answer::other(200, "The metrics", &["text/plain", "application/openmetrics-text"])])
    .refuses(&[404]),
    Endpoint::new(
        Method::Get,
        "/api/v1/openapi.json",
        "getOpenApi",
        Tag::Operational,
        "Returns this document",
    )
    .with_access(Access::Open)
    .answers(&[Answer::json(200, "The document", &[SchemaSource::for_type::<Value>()])])
    .refuses(&[404]),
    Endpoint::new(
        Method::Get,
        "/docs",
        "getDocumentation",
        Tag::Operational,
        "Shows this document as a page",
    )
    .with_access(Access::Open)
    .answers(&[Answer::other(200, "The page", &["text/html"])])
    .refuses(&[404]),
    Endpoint::new(
        Method::Get,
        "/docs/{file}",
        "getDocumentationFile",
        Tag::Operational,
        "Returns a script, style sheet or picture of the page",
    )
    .with_access(Access::Open)
    .path_parameters(&[PathParameter::new("file", "Name of the file", "swagger-ui.css")])
    .answers(&[Answer::other(200, "The file", &["text/css", "text/javascript", "image/png"])]),
];
