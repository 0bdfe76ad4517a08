//! The OpenAPI 3.1 document, made from the table of endpoints and the types they name.

use std::collections::BTreeSet;

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, PathsBuilder};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder, ResponsesBuilder};
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Required,
    Schema, SecurityRequirement, Type,
};

use crate::endpoint::{Access, Answer, BodySchema, Content, Endpoint, Method, SchemaSource, Tag};
use crate::endpoints;
use crate::entities::import::PACKAGE_SIGNATURE_HEADER;
use crate::envelope::reference_to;
use crate::error::ErrorEnvelope;
use crate::free_object::permit_members;
use crate::link;
use crate::parameter::header_parameter;

/// Media type of all bodies but a few.
const JSON: &str = "application/json";
/// The description of the header of a precondition.
const PRECONDITION: &str = "The `ETag` of the state that the change is based on, or `*`";
/// The description of the header of a signature.
const SIGNATURE: &str = "The signature of the body, which is the file of a package: the line of the file that `package \
     sign` writes. With `packages.trust.required` an import without one, or with a wrong one, is refused with 403 \
     `UNTRUSTED_PACKAGE`";
/// The scheme of an admin key as a bearer token.
const BEARER: &str = "bearer";
/// The scheme of an admin key in a header of its own.
const API_KEY: &str = "api_key";
/// The scheme of the token of one trace.
const TRACE_TOKEN: &str = "trace_token";

/// Returns the document of a server of this version.
pub fn document(version: &str) -> OpenApi {
    let mut paths = PathsBuilder::new();
    for endpoint in endpoints::all() {
        paths =
            paths.path(endpoint.path, PathItem::new(to_http_method(endpoint.method), operation(endpoint)));
    }
    let tags = Tag::ALL.map(|tag| TagBuilder::new().name(tag.name()).build());
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("svc")
                .version(version)
                .description(Some(
                    "The data plane runs channels; the admin API edits, activates and observes them. Timestamps are \
                     RFC 3339 in UTC. Every refusal and failure has the same envelope. The answer to a change carries the \
                     id of its row in the audit log as `x-audit-id`; of several rows, that of the last.",
                ))
                .build(),
        )
        .paths(paths.build())
        .tags(Some(tags))
        .components(Some(components()))
        .build()
}

fn to_http_method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Post => HttpMethod::Post,
        Method::Put => HttpMethod::Put,
        Method::Patch => HttpMethod::Patch,
        Method::Delete => HttpMethod::Delete,
    }
}

fn operation(endpoint: &Endpoint) -> Operation {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(endpoint.id))
        .tag(endpoint.tag.name())
        .summary(Some(endpoint.summary))
        .request_body(endpoint.body.map(request_body));
    let text = description(endpoint);
    if !text.is_empty() {
        operation = operation.description(Some(text));
    }
    for parameter in endpoint.path_parameters {
        operation = operation.parameter(parameter.to_openapi());
    }
    for parameter in endpoint.query.iter().filter(|parameter| !parameter.in_text_alone) {
        operation = operation.parameter(parameter.to_openapi());
    }
    if endpoint.precondition {
        operation = operation.parameter(header_parameter("If-Match", PRECONDITION));
    }
    if endpoint.signed {
        operation = operation.parameter(header_parameter(PACKAGE_SIGNATURE_HEADER, SIGNATURE));
    }
    for requirement in security(endpoint.access) {
        operation = operation.security(requirement);
    }
    let mut responses = ResponsesBuilder::new();
    let answered: BTreeSet<u16> = endpoint.answers.iter().map(|answer| answer.status).collect();
    for answer in endpoint.answers {
        responses = responses.response(answer.status.to_string(), response(endpoint, answer));
    }
    for status in endpoint.refusal_statuses().into_iter().filter(|status| !answered.contains(status)) {
        responses =
            responses.response(status.to_string(), RefOr::Ref(Ref::from_response_name(refusal_name(status))));
    }
    operation.responses(responses.build()).build()
}

/// Returns the text of an operation, with the parameters that occur nowhere else.
fn description(endpoint: &Endpoint) -> String {
    let in_text = endpoint.query.iter().filter(|parameter| parameter.in_text_alone);
    let parameters = in_text.map(|parameter| format!("`{}`: {}.", parameter.name, parameter.description));
    let texts = Some(endpoint.description.to_owned()).filter(|text| !text.is_empty());
    texts.into_iter().chain(parameters).collect::<Vec<_>>().join(" ")
}

fn security(access: Access) -> Vec<SecurityRequirement> {
    let scopes: [&str; 0] = [];
    let named = |name: &str| SecurityRequirement::new(name, scopes);
    match access {
        Access::Open | Access::Channel | Access::Consumer => Vec::new(),
        Access::Admin => vec![named(BEARER), named(API_KEY)],
        Access::Optional => vec![SecurityRequirement::default(), named(BEARER), named(API_KEY)],
        Access::Token => vec![named(TRACE_TOKEN)],
        Access::TraceToken => vec![named(BEARER), named(API_KEY), named(TRACE_TOKEN)],
    }
}

fn request_body(body: BodySchema) -> RequestBody {
    let content = ContentBuilder::new()
        .schema(Some((body.schema.reference)()))
        .example(serde_json::from_str(body.example).ok());
    RequestBodyBuilder::new()
        .content(JSON, content.build())
        .required(Some(if body.required { Required::True } else { Required::False }))
        .build()
}

fn response(endpoint: &Endpoint, answer: &Answer) -> Response {
    let mut response = ResponseBuilder::new().description(answer.description);
    response = match answer.content {
        Content::Empty => response,
        Content::Json(schemas) => {
            response.content(JSON, ContentBuilder::new().schema(Some(any_of(schemas))).build())
        }
        Content::Other(media_types) => media_types.iter().fold(response, |response, media_type| {
            let text = ObjectBuilder::new().schema_type(Type::String);
            // What is no text has no schema.
            let schema = media_type.starts_with("text/").then_some(text);
            response.content(*media_type, ContentBuilder::new().schema(schema).build())
        }),
    };
    if answer.tagged {
        let tag = HeaderBuilder::new()
            .schema(ObjectBuilder::new().schema_type(Type::String))
            .description(Some("The state that the body shows, for `If-Match`"));
        response = response.header("ETag", tag.build());
    }
    for (name, link) in link::links(endpoint, answer) {
        response = response.link(name, link);
    }
    response.build()
}

fn any_of(schemas: &[SchemaSource]) -> RefOr<Schema> {
    match schemas {
        [one] => (one.reference)(),
        many => many.iter().fold(AnyOfBuilder::new(), |all, one| all.item((one.reference)())).into(),
    }
}

/// Returns the name and the description of the refusals of a status.
fn refusal(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => ("BadRequest", "The request breaks a rule; `details` names each problem"),
        401 => ("Unauthorized", "The credential is missing, malformed or wrong"),
        403 => ("Forbidden", "The credential is valid and does not allow this"),
        404 => ("NotFound", "The path or the resource does not exist"),
        405 => ("MethodNotAllowed", "The path does not take this method; `Allow` lists those it takes"),
        408 => ("RequestTimeout", "The request did not arrive in time"),
        409 => ("Conflict", "The state of the resource stands against the request"),
        412 => ("PreconditionFailed", "The resource is not in the state that `If-Match` names"),
        413 => ("PayloadTooLarge", "The body is larger than the limit"),
        415 => ("UnsupportedMediaType", "The content type or the content encoding of the body is not taken"),
        421 => ("MisdirectedRequest", "The request is for another node, which `message` names"),
        429 => ("TooManyRequests", "A rate limit is reached; wait for the seconds of `Retry-After`"),
        431 => ("RequestHeaderFieldsTooLarge", "The head of the request is too large"),
        500 => ("InternalServerError", "The service met a fault; its log has the cause under `request_id`"),
        504 => ("GatewayTimeout", "The deadline of the run passed"),
        _ => ("ServiceUnavailable", "A capacity is exhausted, or a component that is needed is away"),
    }
}

fn refusal_name(status: u16) -> &'static str {
    refusal(status).0
}

fn components() -> Components {
    let mut schemas = Vec::new();
    (SchemaSource::for_type::<ErrorEnvelope>().collect)(&mut schemas);
    let mut refusals = BTreeSet::new();
    for endpoint in endpoints::all() {
        refusals.extend(endpoint.refusal_statuses());
        if let Some(body) = endpoint.body {
            (body.schema.collect)(&mut schemas);
        }
        endpoint.answers.iter().for_each(|answer| answer.collect_schemas(&mut schemas));
    }
    schemas.sort_by(|(one, _), (other, _)| one.cmp(other));
    schemas.dedup_by(|(one, _), (other, _)| one == other);
    schemas.iter_mut().for_each(|(_, schema)| permit_members(schema));
    let mut components = ComponentsBuilder::new().schemas_from_iter(schemas);
    for status in refusals {
        let (name, description) = refusal(status);
        let envelope = ContentBuilder::new().schema(Some(reference_to::<ErrorEnvelope>())).build();
        let mut response = ResponseBuilder::new().description(description).content(JSON, envelope);
        if matches!(status, 429 | 503) {
            let seconds = HeaderBuilder::new()
                .schema(ObjectBuilder::new().schema_type(Type::Integer))
                .description(Some("Seconds after which the request may be sent again"));
            response = response.header("Retry-After", seconds.build());
        }
        components = components.response(name, response.build());
    }
    let header = |name: &str, text: &str| {
        SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(name, text)))
    };
    components
        .security_scheme(
            BEARER,
            SecurityScheme::Http(
                HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("An admin key")).build(),
            ),
        )
        .security_scheme(API_KEY, header("x-api-key", "An admin key"))
        .security_scheme(TRACE_TOKEN, header("x-trace-token", "The token that a 202 gave with the trace"))
        .build()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use serde_json::Value;

    use super::*;

    fn rendered_document() -> Value {
        serde_json::to_value(document("1.2.3")).unwrap()
    }

    /// Collects the targets of all references below a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| references(member, found));
            }
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_to_a_component() {
        let document = rendered_document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for target in found {
            assert!(document.pointer(&target[1..]).is_some(), "{target}");
        }
    }

    #[test]
    fn a_component_name_stands_for_one_schema() {
        let mut schemas = Vec::new();
        for endpoint in endpoints::all() {
            endpoint.answers.iter().for_each(|answer| answer.collect_schemas(&mut schemas));
            endpoint.body.iter().for_each(|body| (body.schema.collect)(&mut schemas));
        }
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for (name, schema) in schemas {
            let schema = serde_json::to_value(schema).unwrap();
            let first = known.entry(name.clone()).or_insert_with(|| schema.clone());
            assert_eq!(*first, schema, "{name}");
        }
    }

    #[test]
    fn operations_have_unique_names_and_path_parameters() {
        let mut ids = HashSet::new();
        for endpoint in endpoints::all() {
            assert!(ids.insert(endpoint.id), "{} stands twice", endpoint.id);
            let in_path: Vec<_> =
                endpoint.path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
            let described: Vec<_> = endpoint.path_parameters.iter().map(|parameter| parameter.name).collect();
            assert_eq!(in_path, described, "{}", endpoint.id);
            assert!(!endpoint.answers.is_empty(), "{} has no response", endpoint.id);
        }
        assert_eq!(
            rendered_document()["paths"].as_object().unwrap().values().map(count_operations).sum::<usize>(),
            ids.len()
        );
    }

    fn count_operations(path: &Value) -> usize {
        let methods = ["get", "post", "put", "patch", "delete"];
        methods.iter().filter(|method| path.get(**method).is_some()).count()
    }

    #[test]
    fn admin_operation_documents_its_credential_and_every_refusal() {
        let document = rendered_document();
        for endpoint in endpoints::all().filter(|endpoint| endpoint.access == Access::Admin) {
            let operation = &document["paths"][endpoint.path][endpoint.method.name().to_lowercase()];
            assert_eq!(operation["security"].as_array().map(Vec::len), Some(2), "{}", endpoint.id);
            let has = |status: &str| operation["responses"].get(status).is_some();
            assert!(has("400") && has("401") && has("500") && has("503"), "{}", endpoint.id);
            let is_confidential =
                ["listRecordings", "getRecording", "listBacktests", "getBacktest"].contains(&endpoint.id);
            assert_eq!(has("403"), endpoint.method != Method::Get || is_confidential, "{}", endpoint.id);
            assert_eq!(has("413") && has("415"), endpoint.body.is_some(), "{}", endpoint.id);
        }
    }

    #[test]
    fn every_refusal_is_the_error_envelope() {
        let document = rendered_document();
        for (name, response) in document["components"]["responses"].as_object().unwrap() {
            let schema = &response["content"][JSON]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/ErrorEnvelope", "{name}");
        }
    }

    /// Collects every described member with its name.
    fn described_members<'d>(value: &'d Value, found: &mut Vec<(&'d str, &'d Value)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| described_members(item, found)),
            Value::Object(members) => {
                let described = members.get("properties").and_then(Value::as_object);
                found.extend(described.into_iter().flatten().map(|(name, member)| (name.as_str(), member)));
                members.values().for_each(|member| described_members(member, found));
            }
            _ => {}
        }
    }

    #[test]
    fn instants_are_dates() {
        let document = rendered_document();
        let mut members = Vec::new();
        described_members(&document["components"]["schemas"], &mut members);
        let mut instants = 0;
        for (name, member) in members {
            // Paths and Unix times end so too.
            let is_instant = (name.ends_with("_at") || name.ends_with("_until") || name.ends_with("since"))
                && !matches!(name, "template_at" | "secret_at" | "last_reconcile_at");
            if is_instant || matches!(name, "at" | "scheduled_for" | "last_scheduled_for" | "next_fires") {
                let instant = if name == "next_fires" { &member["items"] } else { member };
                assert_eq!(instant["format"], "date-time", "{name}: {member}");
                instants += 1;
            }
        }
        assert!(instants > 30, "{instants}");
    }

    #[test]
    fn object_without_described_members_may_have_any() {
        fn check(value: &Value) {
            if let Value::Object(members) = value {
                let is_object = members.get("type").is_some_and(|kind| {
                    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()))
                });
                let says = |member: &str| members.contains_key(member);
                assert!(!is_object || says("properties") || says("additionalProperties"), "{value}");
            }
            value.as_object().into_iter().flatten().for_each(|(_, member)| check(member));
            value.as_array().into_iter().flatten().for_each(check);
        }
        check(&rendered_document()["components"]["schemas"]);
    }

    #[test]
    fn examples_of_bodies_are_json() {
        for body in endpoints::all().filter_map(|endpoint| endpoint.body) {
            assert!(serde_json::from_str::<Value>(body.example).is_ok(), "{}", body.example);
        }
    }

    /// Lists the links of all responses with the operations that they begin at.
    fn all_links() -> Vec<(&'static Endpoint, &'static str, utoipa::openapi::link::Link)> {
        let answers =
            endpoints::all().flat_map(|endpoint| endpoint.answers.iter().map(move |one| (endpoint, one)));
        let links = answers.flat_map(|(endpoint, answer)| {
            link::links(endpoint, answer).into_iter().map(move |(name, link)| (endpoint, name, link))
        });
        links.collect()
    }

    #[test]
    fn links_lead_to_operations_that_take_their_parameter() {
        let links = all_links();
        for (from, name, link) in &links {
            assert_ne!(from.id, *name);
            let target = endpoints::all().find(|endpoint| endpoint.id == *name);
            let target = target.unwrap_or_else(|| panic!("{name} is no operation"));
            let taken: Vec<_> = target.path_parameters.iter().map(|parameter| parameter.name).collect();
            assert_eq!(link.parameters.keys().map(String::as_str).collect::<Vec<_>>(), taken, "{name}");
            assert_eq!(serde_json::to_value(link).unwrap()["operationId"], *name);
        }
        assert!(links.len() > 150, "{}", links.len());
    }

    #[test]
    fn responses_link_to_operations_on_their_resources() {
        let links = all_links();
        let from = |id: &str| -> BTreeMap<&'static str, String> {
            let links = links.iter().filter(|(endpoint, ..)| endpoint.id == id);
            let value = |link: &utoipa::openapi::link::Link| {
                let link = serde_json::to_value(link).unwrap();
                let values = link["parameters"].as_object().unwrap().values();
                values.map(|value| value.as_str().unwrap().to_owned()).collect::<String>()
            };
            links.map(|(_, name, link)| (*name, value(link))).collect()
        };
        for id in [
            "createWorkflow",
            "updateWorkflow",
            "changeWorkflowStatus",
            "rollBackWorkflow",
            "createWorkflowVersion",
        ] {
            for target in [
                "getWorkflow",
                "updateWorkflow",
                "changeWorkflowStatus",
                "listWorkflowVersions",
                "deleteWorkflow",
            ] {
                let expected = (id != target).then(|| "$response.body#/data/workflow_id".to_owned());
                assert_eq!(from(id).get(target).cloned(), expected, "{id} → {target}");
            }
        }
        for (id, target, pointer) in [
            ("listChannels", "triggerChannel", "/data/0/channel_id"),
            ("exportConnectors", "testConnector", "/data/0/id"),
            ("triggerChannel", "retryOccurrence", "/data/id"),
            ("getOccurrence", "getChannel", "/data/channel_id"),
            ("listSchedules", "getChannel", "/data/0/channel_id"),
            ("listDeadLetters", "requeueDeadLetter", "/data/0/id"),
            ("getDeadLetter", "getTrace", "/data/trace_id"),
            ("listTraces", "getTrace", "/data/0/id"),
            ("submit", "getTrace", "/trace_id"),
            ("listPackages", "getPackage", "/data/0/name"),
            ("getWorkflowDependencies", "getWorkflow", "/data/workflow_id"),
        ] {
            let expected = format!("$response.body#{pointer}");
            assert_eq!(from(id).get(target), Some(&expected), "{id} → {target}");
        }
        // A value that may be null leads nowhere.
        assert_eq!(from("getChannel").get("getWorkflow"), None);
    }

    #[test]
    fn every_operation_on_a_resource_has_a_link() {
        const UNREACHED: [(&str, &str); 16] = [
            ("deleteConsumerKey", "it takes two parameters"),
            ("getDocumentSchema", "its parameter is one of three kinds, not a value"),
            ("getDocumentationFile", "browsers find its path in the page"),
            ("listOwnWebhookAttempts", "a consumer calls it under its own key"),
            ("replayOwnWebhooks", "as listOwnWebhookAttempts"),
            ("testOwnWebhook", "as listOwnWebhookAttempts"),
            ("getSubmission", "it takes two parameters, and `Location` leads there"),
            ("resetCircuitBreaker", "the keys of breakers are names of members, not values"),
            ("restartActor", "a link would restart whatever actor stands first in the tree"),
            ("runChannel", "a channel runs while it is active, under the credential of its callers"),
            ("runChannelByDelete", "as runChannel"),
            ("runChannelByGet", "as runChannel"),
            ("runChannelByPatch", "as runChannel"),
            ("runChannelByPut", "as runChannel"),
            ("skipKafkaRecord", "it takes two parameters"),
            ("submit", "as runChannel"),
        ];
        let reached: HashSet<_> = all_links().into_iter().map(|(_, name, _)| name).collect();
        for endpoint in endpoints::all().filter(|endpoint| !endpoint.path_parameters.is_empty()) {
            let is_listed = UNREACHED.iter().any(|(id, _)| *id == endpoint.id);
            assert_ne!(reached.contains(endpoint.id), is_listed, "{}", endpoint.id);
        }
    }
}
