//! Endpoints of workflows.

use crate::endpoint::{
    Answer, CHANNEL_TYPE, DOCUMENT_DRY_RUN, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, FORCE,
    LIMIT, Method, NO_DRY_RUN, NO_LIMIT, NO_OFFSET, OFFSET, ON_CONFLICT, PROTOCOL, RELOAD, SORT_ORDER,
    SchemaSource, TAG, Tag, sort_by,
};
use crate::entities::definitions::{WorkflowDefinition, WorkflowUpdate};
use crate::entities::impact::DefinitionImpact;
use crate::entities::import::{ImportBatch, ImportSummary};
use crate::entities::lifecycle::{RollbackRequest, RolloutChange, StatusChange, VersionRequest};
use crate::entities::rollouts::WorkflowRollout;
use crate::entities::validation::ValidationResult;
use crate::entities::workflows::{
    WorkflowDependencies, WorkflowResource, WorkflowStats, WorkflowTrial, WorkflowTrialResult,
};
use crate::envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
use crate::filters::{FilteredList, parameters_of};
use crate::names::LIFECYCLE_STATUSES;
use crate::parameter::ParameterKind::{Natural, SeveralOf};
use crate::parameter::{PathParameter, QueryParameter};
use crate::versioned::versioned_endpoints;

const ID: &[PathParameter] = &[PathParameter::new("id", "Id of the workflow", "greeting")];

const SORT_BY: QueryParameter = sort_by(&["priority", "name", "status", "created_at", "updated_at"]);

const STATUS: QueryParameter = QueryParameter::new(
    "status",
    SeveralOf(LIFECYCLE_STATUSES),
    "`active`: only workflows that serve, whatever their latest version is; `draft`: only those whose latest version \
     is a draft; `archived`: only those whose latest version is archived and that do not serve",
);

/// Of an export, which has the latest versions.
const LATEST_STATUS: QueryParameter = QueryParameter::new(
    "status",
    SeveralOf(LIFECYCLE_STATUSES),
    "Only workflows whose latest version has one of these statuses",
);

const PAGE: &[QueryParameter] = &[STATUS, TAG, CHANNEL_TYPE, PROTOCOL, SORT_BY, SORT_ORDER, LIMIT, OFFSET];

/// The parameters of the list. An export has no pages.
const EXPORT: &[QueryParameter] =
    &[LATEST_STATUS, TAG, CHANNEL_TYPE, PROTOCOL, SORT_BY, SORT_ORDER, NO_LIMIT, NO_OFFSET];

const STATS_VERSION: QueryParameter = QueryParameter::new(
    "version",
    Natural,
    "The version; by default the one that serves, of two the one with the larger share of the traffic, else the latest",
);

const ONE: SchemaSource = SchemaSource::for_type::<DataEnvelope<WorkflowResource>>();
const WARNED: SchemaSource = SchemaSource::for_type::<WarnedEnvelope<WorkflowResource>>();
const MANY: SchemaSource = SchemaSource::for_type::<PageEnvelope<WorkflowResource>>();

pub(super) const ENDPOINTS: &[Endpoint] = versioned_endpoints! {
    kind: "workflow", "workflows", "Workflow", "Workflows";
    tag: Tag::Workflows;
    query: parameters_of!(FilteredList::Workflows, PAGE);
    types: WorkflowDefinition, WorkflowUpdate, WorkflowResource, ValidationResult;
    created: r#"{"workflow_id": "greeting", "name": "Greeting", "tasks": [{"id": "greet", "name": "Greet", "function": {"name": "map", "input": {"mappings": [{"path": "data.text", "logic": {"cat": ["Hello, ", {"var": "data.name"}]}}]}}}]}"#;
    imported: r#"[{"workflow_id": "imported", "name": "Imported", "tasks": [{"id": "log", "name": "Log", "function": {"name": "log", "input": {"message": "received"}}}]}]"#;
    validated: r#"{"name": "Greeting", "tasks": [{"id": "greet", "name": "Greet", "function": {"name": "map", "input": {"mappings": [{"path": "data.text", "logic": {"cat": ["Hello, ", {"var": "data.name"}]}}]}}}]}"#;
    own: [
        Endpoint::new(
            Method::Patch,
            "/api/v1/admin/workflows/{id}/rollout",
            "changeWorkflowRollout",
            Tag::Workflows,
            "Changes the share of the traffic of the newer active version",
        )
        .describes(
            "With `steps` the share rises by itself while the outcomes of both versions are compared. While it does, a share \
             is refused with 409 unless `override` is true; `state` steers it.",
        )
        .path_parameters(ID)
        .with_query(&[DRY_RUN_PARAMETER, RELOAD])
        .with_precondition()
        .takes::<RolloutChange>(r#"{"rollout_percentage": 100}"#)
        .answers(&[Answer::json(200, "The newer version; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])])
        .refuses(&[409]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/workflows/{id}/rollout",
            "getWorkflowRollout",
            Tag::Workflows,
            "Shows the traffic of the active versions, and the rollout that moves it by itself",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(
            200,
            "The shares and the rollout",
            &[SchemaSource::for_type::<DataEnvelope<WorkflowRollout>>()],
        )]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/workflows/{id}/dependencies",
            "getWorkflowDependencies",
            Tag::Workflows,
            "Lists the connectors and channels that the latest version uses",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(
            200,
            "The dependencies",
            &[SchemaSource::for_type::<DataEnvelope<WorkflowDependencies>>()],
        )]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/workflows/{id}/impact",
            "getWorkflowImpact",
            Tag::Workflows,
            "Lists what a change of a workflow would touch: routes, schedules, callers, connectors",
        )
        .describes(
            "The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; \
             `capped` says that there are more.",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(200, "The reach", &[SchemaSource::for_type::<DataEnvelope<DefinitionImpact>>()])]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/workflows/{id}/stats",
            "getWorkflowStats",
            Tag::Workflows,
            "Shows how often each task of a version ran and failed on this node, and how long it took",
        )
        .describes(
            "The counts are in the memory of the node that answers. They begin with the load of the version, go on through \
             reloads, and end with the version or the node. Runs again with a version that does not serve, and trials, are \
             not in them.",
        )
        .path_parameters(ID)
        .with_query(&[STATS_VERSION])
        .answers(&[Answer::json(200, "The counts", &[SchemaSource::for_type::<DataEnvelope<WorkflowStats>>()])]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/workflows/{id}/test",
            "testWorkflow",
            Tag::Workflows,
            "Runs the latest version, or a definition that is not stored, once and shows every step",
        )
        .describes(
            "Connectors and channels are called for real, unless `stubs` answer for them. A run that fails is answered \
             with 200 and its `error`.",
        )
        .path_parameters(ID)
        .with_query(&[NO_DRY_RUN])
        .may_take::<WorkflowTrial>(r#"{"data": {"name": "Ada"}}"#)
        .answers(&[Answer::json(
            200,
            "The result of the run",
            &[SchemaSource::for_type::<DataEnvelope<WorkflowTrialResult>>()],
        )]),
    ]
};
