//! Endpoints of plugins.

use crate::endpoint::{
    Answer, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, LIMIT, Method, OFFSET, ON_CONFLICT,
    SchemaSource, Tag,
};
use crate::entities::impact::DefinitionImpact;
use crate::entities::import::{ImportBatch, ImportSummary};
use crate::entities::plugins::{ExportedPlugin, PluginDetail, PluginRequest, PluginStatusRequest};
use crate::envelope::{DataEnvelope, ListEnvelope, PageEnvelope};
use crate::parameter::ParameterKind::Text;
use crate::parameter::{PathParameter, QueryParameter};

const PLUGIN: &[PathParameter] = &[PathParameter::new("id", "Id of the plugin", "tax")];

const ONE: SchemaSource = SchemaSource::for_type::<DataEnvelope<PluginDetail>>();

const EXAMPLE: &str = concat!(
    r#"{"manifest": {"abi": "svc:plugin@1.0.0", "name": "tax", "version": "1.0.0", "functions": [{"name": "vat", "#,
    r#""description": "Adds the value-added tax", "input_fields": [{"name": "net", "kind": "number", "#,
    r#""required": true}]}]}, "component": "AGFzbQ0AAQA="}"#,
);

const IMPORT_EXAMPLE: &str = concat!(
    r#"[{"manifest": {"abi": "svc:plugin@1.0.0", "name": "rates", "version": "1.0.0", "functions": [{"name": "eur", "#,
    r#""description": "Converts to euros"}]}, "component": "AGFzbQ0AAQA="}]"#,
);

const EXPORTED: QueryParameter = QueryParameter::new("id", Text, "Only the plugin of this id");

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/plugins",
        "listPlugins",
        Tag::Plugins,
        "Lists the versions of all plugins, by id and newest first within an id",
    )
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(200, "A page of versions", &[SchemaSource::for_type::<PageEnvelope<PluginDetail>>()])]),
    Endpoint::new(Method::Post, "/api/v1/admin/plugins", "createPlugin", Tag::Plugins, "Creates a plugin as a draft")
        .describes("Its id is the name in the manifest. The component is compiled once the draft is activated.")
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<PluginRequest>(EXAMPLE)
        .answers(&[Answer::json(201, "The draft", &[ONE]), DRY_RUN])
        .refuses(&[403, 409]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/plugins/export",
        "exportPlugins",
        Tag::Plugins,
        "Exports the latest version of every plugin with its component",
    )
    .describes("The response is the body of an import. A component has up to some megabytes.")
    .with_query(&[EXPORTED])
    .answers(&[Answer::json(200, "The plugins", &[SchemaSource::for_type::<ListEnvelope<ExportedPlugin>>()])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/plugins/import",
        "importPlugins",
        Tag::Plugins,
        "Imports a batch of plugins as drafts",
    )
    .with_query(&[DRY_RUN_PARAMETER, ON_CONFLICT])
    .with_signature()
    .takes::<ImportBatch>(IMPORT_EXAMPLE)
    .answers(&[Answer::json(
        200,
        "The result of each item",
        &[SchemaSource::for_type::<DataEnvelope<ImportSummary>>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/plugins/{id}",
        "getPlugin",
        Tag::Plugins,
        "Lists the versions of a plugin, newest first",
    )
    .path_parameters(PLUGIN)
    .answers(&[Answer::json(200, "The versions", &[SchemaSource::for_type::<ListEnvelope<PluginDetail>>()])]),
    Endpoint::new(
        Method::Put,
        "/api/v1/admin/plugins/{id}",
        "putPluginDraft",
        Tag::Plugins,
        "Replaces the draft of a plugin, or makes one",
    )
    .path_parameters(PLUGIN)
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<PluginRequest>(EXAMPLE)
    .answers(&[Answer::json(200, "The draft; with `dry_run=true` the report", &[ONE, DRY_RUN_REPORT])])
    .refuses(&[403]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/plugins/{id}/impact",
        "getPluginImpact",
        Tag::Plugins,
        "Lists what a change of a plugin would touch: routes, schedules, callers",
    )
    .describes(
        "The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and \
         origin; `capped` says that there are more.",
    )
    .path_parameters(PLUGIN)
    .answers(&[Answer::json(200, "The reach", &[SchemaSource::for_type::<DataEnvelope<DefinitionImpact>>()])]),
    Endpoint::new(
        Method::Patch,
        "/api/v1/admin/plugins/{id}/status",
        "changePluginStatus",
        Tag::Plugins,
        "Activates the draft of a plugin, or archives its active version",
    )
    .describes(
        "After an activation every node compiles the component, off the way of requests; until then calls of its \
         functions are answered with 503 `PLUGIN_COMPILING`. A plugin that workflows call cannot be archived.",
    )
    .path_parameters(PLUGIN)
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<PluginStatusRequest>(r#"{"status": "active"}"#)
    .answers(&[Answer::json(200, "The version; with `dry_run=true` the report", &[ONE, DRY_RUN_REPORT])])
    .refuses(&[409]),
    Endpoint::new(
        Method::Delete,
        "/api/v1/admin/plugins/{id}",
        "deletePlugin",
        Tag::Plugins,
        "Deletes a plugin with all versions, unless one is active",
    )
    .path_parameters(PLUGIN)
    .with_query(&[DRY_RUN_PARAMETER])
    .answers(&[Answer::empty(204, "The plugin is deleted"), DRY_RUN])
    .refuses(&[409]),
];
