//! Links: the requests that may come after a response. They follow from the types of the bodies: if one shows a
//! resource, or names it, each operation about that resource takes its key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::link::{Link, LinkBuilder};

use crate::bulk::{BulkRunDetail, BulkStarted};
use crate::endpoint::{Answer, Content, Endpoint, Method, SchemaSource};
use crate::endpoints;
use crate::entities::channels::ChannelResource;
use crate::entities::connectors::{ConnectorResource, ExportedConnector};
use crate::entities::consumers::ConsumerDetail;
use crate::entities::packages::{PackageDetail, Receipt};
use crate::entities::plugins::PluginDetail;
use crate::entities::workflows::WorkflowResource;
use crate::runs::backtests::{BacktestDetail, BacktestStarted};
use crate::runs::cron::{OccurrenceDetail, OccurrenceSummary};
use crate::runs::dead_letters::{DeadLetterDetail, DeadLetterSummary};
use crate::runs::recordings::{RecordingDetail, RecordingSummary};
use crate::runs::traces::{TraceDetail, TraceSummary};
use crate::server::webhooks::WebhookDetail;

/// A kind of resource that has paths of its own.
struct LinkedResource {
    /// The path of one, which ends with the parameter.
    path: &'static str,
    /// The member of its representations that the parameter takes.
    key: &'static str,
    /// The member by which other bodies refer to it.
    reference: Option<&'static str>,
    /// The names of the schemas that represent it.
    schemas: &'static [fn() -> Cow<'static, str>],
}

const RESOURCES: [LinkedResource; 13] = [
    LinkedResource {
        path: "/api/v1/admin/channels/{id}",
        key: "channel_id",
        reference: Some("channel_id"),
        schemas: &[<ChannelResource as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/workflows/{id}",
        key: "workflow_id",
        reference: Some("workflow_id"),
        schemas: &[<WorkflowResource as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/connectors/{id}",
        key: "id",
        reference: None,
        schemas: &[<ConnectorResource as ToSchema>::name, <ExportedConnector as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/webhooks/{id}",
        key: "id",
        reference: None,
        schemas: &[<WebhookDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/traces/{id}",
        key: "id",
        reference: Some("trace_id"),
        schemas: &[<TraceSummary as ToSchema>::name, <TraceDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/recordings/{id}",
        key: "id",
        reference: None,
        schemas: &[<RecordingSummary as ToSchema>::name, <RecordingDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/backtests/{id}",
        key: "id",
        reference: None,
        schemas: &[<BacktestStarted as ToSchema>::name, <BacktestDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/trace-dlq/{id}",
        key: "id",
        reference: None,
        schemas: &[<DeadLetterSummary as ToSchema>::name, <DeadLetterDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/cron/occurrences/{id}",
        key: "id",
        reference: None,
        schemas: &[<OccurrenceSummary as ToSchema>::name, <OccurrenceDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/bulk/{id}",
        key: "id",
        reference: None,
        schemas: &[<BulkStarted as ToSchema>::name, <BulkRunDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/packages/{name}",
        key: "name",
        reference: None,
        schemas: &[<Receipt as ToSchema>::name, <PackageDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/consumers/{name}",
        key: "name",
        reference: None,
        schemas: &[<ConsumerDetail as ToSchema>::name],
    },
    LinkedResource {
        path: "/api/v1/admin/plugins/{id}",
        key: "plugin_id",
        reference: None,
        schemas: &[<PluginDetail as ToSchema>::name],
    },
];

impl LinkedResource {
    /// Lists the operations that take the key of one.
    fn operations(&self) -> impl Iterator<Item = &'static Endpoint> {
        let is_below = |path: &str| {
            path.strip_prefix(self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        endpoints::all()
            .filter(move |endpoint| is_below(endpoint.path) && endpoint.path_parameters.len() == 1)
    }
}

/// Returns the links of a response, each with its name, which is the id of the operation that it leads to.
pub(crate) fn links(endpoint: &Endpoint, answer: &Answer) -> Vec<(&'static str, Link)> {
    let Content::Json(sources) = answer.content else { return Vec::new() };
    let mut targets = BTreeMap::new();
    for source in sources {
        add_targets(&BodyTypes::new(*source), &mut targets);
    }
    // The response to a request does not lead back to it.
    targets.remove(endpoint.id);
    targets.into_iter().map(|(id, (parameter, pointer))| (id, link(id, parameter, &pointer))).collect()
}

/// Returns the link to an operation that takes a value of the body as its parameter.
fn link(id: &'static str, parameter: &'static str, pointer: &str) -> Link {
    // `LinkBuilder::operation_id` of utoipa 5 writes `operation_id`, which is no member of a link.
    let operation = Extensions::from_iter([("operationId", id)]);
    let value = format!("$response.body#{pointer}");
    LinkBuilder::new().parameter(parameter, value.as_str()).extensions(Some(operation)).build()
}

/// The parameter of each operation that a response leads to, with the pointer to its value in the body.
type LinkTargets = BTreeMap<&'static str, (&'static str, String)>;

fn add_targets(body: &BodyTypes, targets: &mut LinkTargets) {
    let (at, shown) = body.subject();
    let Some(shown) = shown else { return };
    for resource in RESOURCES.iter().filter(|one| one.schemas.iter().any(|name| name() == shown)) {
        for endpoint in resource.operations() {
            add(targets, endpoint, format!("{at}/{}", resource.key));
        }
    }
    let members = body.required_texts(shown);
    for resource in &RESOURCES {
        let Some(member) = resource.reference.filter(|member| members.contains(member)) else { continue };
        let reads = |endpoint: &&Endpoint| endpoint.method == Method::Get && endpoint.path == resource.path;
        for endpoint in resource.operations().filter(reads) {
            add(targets, endpoint, format!("{at}/{member}"));
        }
    }
}

/// Adds an operation, unless the response leads to it already.
fn add(targets: &mut LinkTargets, endpoint: &'static Endpoint, pointer: String) {
    for parameter in endpoint.path_parameters {
        targets.entry(endpoint.id).or_insert_with(|| (parameter.name, pointer.clone()));
    }
}

/// The schemas of a body.
struct BodyTypes {
    /// The name of the schema of the whole body.
    root: String,
    schemas: BTreeMap<String, Value>,
}

impl BodyTypes {
    fn new(source: SchemaSource) -> Self {
        let mut collected = Vec::new();
        (source.collect)(&mut collected);
        let written = |schema| serde_json::to_value(schema).unwrap_or_default();
        let schemas = collected.into_iter().map(|(name, schema)| (name, written(schema))).collect();
        let root = serde_json::to_value((source.reference)()).unwrap_or_default();
        Self { root: schema_name(&root).unwrap_or_default().to_owned(), schemas }
    }

    /// Returns what the body is about: the pointer to its resource, or to the first one of a list, and the name of
    /// the schema. A body without an envelope is about itself.
    fn subject(&self) -> (&'static str, Option<&str>) {
        let data = self.schemas.get(&self.root).map(|schema| &schema["properties"]["data"]);
        match data {
            Some(Value::Object(data)) => match (data.get("$ref"), data.get("items")) {
                (None, Some(items)) => ("/data/0", schema_name(items)),
                _ => ("/data", data.get("$ref").and_then(Value::as_str).map(last_segment)),
            },
            Some(_) => ("", Some(self.root.as_str())),
            None => ("", None),
        }
    }

    /// Lists the members of a schema that are always there and are texts.
    fn required_texts(&self, name: &str) -> Vec<&str> {
        let mut members = Vec::new();
        if let Some(schema) = self.schemas.get(name) {
            self.add_required_texts(schema, &mut members);
        }
        members
    }

    fn add_required_texts<'s>(&'s self, schema: &'s Value, members: &mut Vec<&'s str>) {
        // A type with flattened members is all of several schemas.
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let named = schema_name(part).and_then(|name| self.schemas.get(name));
            self.add_required_texts(named.unwrap_or(part), members);
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        members.extend(required.filter(|member| schema["properties"][*member]["type"] == "string"));
    }
}

/// Returns the name of the schema that a reference leads to.
fn schema_name(reference: &Value) -> Option<&str> {
    reference["$ref"].as_str().map(last_segment)
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
