//! Endpoints of connectors and their circuit breakers.

use crate::endpoint::{
    Answer, DOCUMENT_DRY_RUN, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, FORCE, LIMIT, Method,
    NO_DRY_RUN, NO_LIMIT, NO_OFFSET, NODE, OFFSET, ON_CONFLICT, RELOAD, SORT_ORDER, SchemaSource, TAG, Tag,
    sort_by,
};
use crate::entities::connectors::{
    CircuitBreakerMap, CircuitBreakerReset, ConnectorCalls, ConnectorProbeResult, ConnectorResource,
    ExportedConnector,
};
use crate::entities::definitions::{ConnectorDefinition, ConnectorUpdate};
use crate::entities::impact::DefinitionImpact;
use crate::entities::import::{ImportBatch, ImportSummary};
use crate::entities::lifecycle::StatusChange;
use crate::entities::validation::ValidationResult;
use crate::envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
use crate::filters::{FilteredList, parameters_of};
use crate::parameter::{PathParameter, QueryParameter};

const ID: &[PathParameter] = &[PathParameter::new("id", "Id of the connector", "crm")];
const SORT_BY: QueryParameter = sort_by(&["name", "connector_type", "created_at", "updated_at"]);

const PAGE: &[QueryParameter] = &[TAG, SORT_BY, SORT_ORDER, LIMIT, OFFSET];
const EXPORT: &[QueryParameter] = &[TAG, SORT_BY, SORT_ORDER, NO_LIMIT, NO_OFFSET];
const WARNED: SchemaSource = SchemaSource::for_type::<WarnedEnvelope<ConnectorResource>>();

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors",
        "listConnectors",
        Tag::Connectors,
        "Lists the connectors with their load status",
    )
    .with_query(parameters_of!(FilteredList::Connectors, PAGE))
    .answers(&[Answer::json(
        200,
        "A page of connectors",
        &[SchemaSource::for_type::<PageEnvelope<ConnectorResource>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/connectors",
        "createConnector",
        Tag::Connectors,
        "Creates a connector, which is loaded at once",
    )
    .with_query(&[DOCUMENT_DRY_RUN])
    .takes::<ConnectorDefinition>(
        r#"{"id": "crm", "name": "crm", "connector_type": "http", "config": {"url": "https://crm.example.com"}}"#,
    )
    .answers(&[
        Answer::json(201, "The connector", &[WARNED]),
        DRY_RUN,
    ])
    .refuses(&[409]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors/export",
        "exportConnectors",
        Tag::Connectors,
        "Exports every connector",
    )
    .describes("The response is the body of an import once the masked secrets are filled in.")
    .with_query(EXPORT)
    .answers(&[Answer::json(
        200,
        "The connectors",
        &[SchemaSource::for_type::<ListEnvelope<ExportedConnector>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/connectors/import",
        "importConnectors",
        Tag::Connectors,
        "Imports a batch of connectors",
    )
    .with_query(&[DRY_RUN_PARAMETER, ON_CONFLICT])
    .with_signature()
    .takes::<ImportBatch>(
        r#"[{"name": "imported", "connector_type": "http", "config": {"url": "https://imported.example.com"}}]"#,
    )
    .answers(&[Answer::json(
        200,
        "The result of each item",
        &[SchemaSource::for_type::<DataEnvelope<ImportSummary>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/connectors/validate",
        "validateConnector",
        Tag::Connectors,
        "Reports the result of a create, and the secret references that cannot be resolved now",
    )
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<serde_json::Value>(
        r#"{"name": "crm", "connector_type": "http", "config": {"url": "https://crm.example.com"}}"#,
    )
    .answers(&[Answer::json(200, "The report", &[SchemaSource::for_type::<DataEnvelope<ValidationResult>>()])]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors/circuit-breakers",
        "listCircuitBreakers",
        Tag::Connectors,
        "Lists the circuit breakers of this node",
    )
    .answers(&[Answer::json(
        200,
        "The circuit breakers",
        &[SchemaSource::for_type::<DataEnvelope<CircuitBreakerMap>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/connectors/circuit-breakers/{key}",
        "resetCircuitBreaker",
        Tag::Connectors,
        "Closes a circuit breaker",
    )
    .path_parameters(&[PathParameter::new("key", "Channel and connector: `channel:connector`", "greetings:crm")])
    .with_query(&[NO_DRY_RUN, NODE])
    .answers(&[Answer::json(
        200,
        "The circuit breaker is closed",
        &[SchemaSource::for_type::<DataEnvelope<CircuitBreakerReset>>()],
    )])
    .refuses(&[421]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors/{id}",
        "getConnector",
        Tag::Connectors,
        "Reads a connector",
    )
    .path_parameters(ID)
    .answers(&[Answer::json(200, "The connector", &[WARNED]).with_tag()]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors/{id}/calls",
        "listConnectorCalls",
        Tag::Connectors,
        "Lists the last calls of a connector on this node, with its breakers and its token",
    )
    .describes("The calls are in the memory of the node that answers and end with it. Bodies are not kept.")
    .path_parameters(ID)
    .answers(&[Answer::json(
        200,
        "The calls",
        &[SchemaSource::for_type::<DataEnvelope<ConnectorCalls>>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/connectors/{id}/impact",
        "getConnectorImpact",
        Tag::Connectors,
        "Lists what a change of a connector would touch: the workflows and channels that use it",
    )
    .describes(
        "The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; \
         `capped` says that there are more.",
    )
    .path_parameters(ID)
    .answers(&[Answer::json(200, "The reach", &[SchemaSource::for_type::<DataEnvelope<DefinitionImpact>>()])]),
    Endpoint::new(
        Method::Put,
        "/api/v1/admin/connectors/{id}",
        "updateConnector",
        Tag::Connectors,
        "Changes a connector, which is loaded anew at once",
    )
    .path_parameters(ID)
    .with_query(&[DOCUMENT_DRY_RUN])
    .with_precondition()
    .takes::<ConnectorUpdate>(r#"{"tags": ["sales"]}"#)
    .answers(&[Answer::json(200, "The connector; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])])
    .refuses(&[409]),
    Endpoint::new(
        Method::Delete,
        "/api/v1/admin/connectors/{id}",
        "deleteConnector",
        Tag::Connectors,
        "Deletes a connector",
    )
    .path_parameters(ID)
    .with_query(&[DRY_RUN_PARAMETER, FORCE])
    .with_precondition()
    .answers(&[Answer::empty(204, "The connector is deleted"), DRY_RUN])
    .refuses(&[409]),
    Endpoint::new(
        Method::Patch,
        "/api/v1/admin/connectors/{id}/status",
        "changeConnectorStatus",
        Tag::Connectors,
        "Takes a connector into use (`active`) or out of it (`archived`)",
    )
    .path_parameters(ID)
    .with_query(&[DRY_RUN_PARAMETER, RELOAD])
    .with_precondition()
    .takes::<StatusChange>(r#"{"status": "active"}"#)
    .answers(&[Answer::json(200, "The connector; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])])
    .refuses(&[409]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/connectors/{id}/test",
        "testConnector",
        Tag::Connectors,
        "Tries the system behind a connector",
    )
    .describes("A system that does not answer is reported with 200 and `reachable: false`.")
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(
        200,
        "The result of the trial",
        &[SchemaSource::for_type::<DataEnvelope<ConnectorProbeResult>>()],
    )]),
];
