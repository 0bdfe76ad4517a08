//! The OpenAPI document of channels that take requests.

use serde_json::{Map, Value, json};
use svc_model::config::auth::TokenLocation;
use svc_model::config::{AuthConfig, DuplicatePolicy, RequestBodyFormat, RequestMode, ResponseMode};
use svc_model::{ChannelConfig, ChannelContent};

use crate::DocumentedChannel;
use crate::channel::sorted;
use crate::components::{SchemaComponents, component_name, unused_name};
use crate::events;

/// The media types that `auto` takes other than JSON.
const OTHERS_OF_AUTO: [&str; 5] =
    ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "text/csv", "application/xml"];
/// The first status of a refusal, which no envelope of an answer has.
const FIRST_REFUSAL: u16 = 400;
/// Methods whose requests have a body.
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Makes the OpenAPI 3.1 document of the channels that take requests. `base` is the path that their routes begin at.
pub fn openapi_document(title: &str, base: &str, channels: &[DocumentedChannel], tag: Option<&str>) -> Value {
    let mut document = OpenApi { base, ..OpenApi::default() };
    for channel in sorted(channels).into_iter().filter(|channel| channel.takes_requests(tag)) {
        document.add(&channel.content, &channel.config);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "paths": document.paths,
        "components": {
            "schemas": document.schemas.finish(),
            "securitySchemes": document.security,
            "responses": {"Error": {
                "description": "A refusal or a failure.",
                "content": {"application/json": {"schema": error_schema()}},
            }},
        },
    })
}

/// A document under construction.
#[derive(Debug, Default)]
struct OpenApi<'d> {
    base: &'d str,
    paths: Map<String, Value>,
    schemas: SchemaComponents,
    security: Map<String, Value>,
}

impl OpenApi<'_> {
    fn add(&mut self, content: &ChannelContent, config: &ChannelConfig) {
        let name = component_name(&content.name);
        let route = content.route_pattern.clone().unwrap_or_else(|| format!("/{}", content.name));
        let path = format!("{}{route}", self.base);
        let request = config.request.schema.as_ref();
        let request =
            request.map_or_else(|| json!({}), |schema| self.schemas.add(&format!("{name}.request"), schema));
        let response = config.response.schema.as_ref();
        let response = response
            .map_or_else(|| json!({}), |schema| self.schemas.add(&format!("{name}.response"), schema));
        let security = config.auth.as_ref().map(|auth| self.add_security(&name, auth));
        let all = ["POST".to_owned()];
        let methods = content.methods.as_deref().filter(|methods| !methods.is_empty()).unwrap_or(&all);
        for method in methods {
            let id =
                if methods.len() == 1 { name.clone() } else { format!("{name}_{}", method.to_lowercase()) };
            let mut operation = Map::new();
            operation.insert("operationId".to_owned(), json!(id));
            operation.insert("summary".to_owned(), json!(content.name));
            if let Some(description) = &content.description {
                operation.insert("description".to_owned(), json!(description));
            }
            operation.insert("tags".to_owned(), json!(content.tags));
            let mut parameters = path_parameters(&route);
            if WITH_BODY.contains(&method.as_str()) && events::takes_events(config) {
                parameters.extend(events::header_parameters());
            }
            parameters.extend(idempotency_parameter(config));
            operation.insert("parameters".to_owned(), Value::Array(parameters));
            if WITH_BODY.contains(&method.as_str()) {
                operation.insert("requestBody".to_owned(), request_body(config, &request));
            }
            operation.insert("responses".to_owned(), responses(config, &response));
            if let Some(security) = &security {
                operation.insert("security".to_owned(), security.clone());
            }
            // Of two channels of one path the one of the higher priority answers, and both are rare.
            let item = self.paths.entry(path.clone()).or_insert_with(|| json!({}));
            if let Value::Object(item) = item {
                item.entry(method.to_lowercase()).or_insert(Value::Object(operation));
            }
        }
    }

    /// Adds the scheme of the credentials of a channel and returns the requirement.
    fn add_security(&mut self, name: &str, auth: &AuthConfig) -> Value {
        let (scheme, is_optional) = security_scheme(auth);
        let known = self.security.iter().find(|(_, known)| **known == scheme).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| unused_name(name, |name| self.security.contains_key(name)));
        self.security.insert(name.clone(), scheme);
        let mut requirement = vec![json!({name: []})];
        if is_optional {
            requirement.push(json!({}));
        }
        Value::Array(requirement)
    }
}

/// Returns the scheme of credentials, and true if requests without them are admitted.
fn security_scheme(auth: &AuthConfig) -> (Value, bool) {
    let header =
        |name: &str, text: &str| json!({"type": "apiKey", "in": "header", "name": name, "description": text});
    match auth {
        AuthConfig::ApiKey(key) => {
            match (key.header.eq_ignore_ascii_case("authorization"), key.scheme.as_deref()) {
                (true, None | Some("Bearer")) => (json!({"type": "http", "scheme": "bearer"}), false),
                (_, Some(scheme)) => (header(&key.header, &format!("`{scheme} ` and a key")), false),
                (_, None) => (header(&key.header, "A key"), false),
            }
        }
        AuthConfig::Hmac(hmac) => (header(&hmac.header, "A signature of the body"), false),
        AuthConfig::Jwt(jwt) => {
            let scheme = match &jwt.source {
                TokenLocation::Header { header: name, scheme }
                    if name.eq_ignore_ascii_case("authorization") =>
                {
                    json!({"type": "http", "scheme": scheme.as_deref().unwrap_or("bearer").to_lowercase(),
                        "bearerFormat": "JWT"})
                }
                TokenLocation::Header { header: name, .. } => header(name, "A JSON Web Token"),
                TokenLocation::Cookie(name) => json!({"type": "apiKey", "in": "cookie", "name": name}),
            };
            (scheme, !jwt.required)
        }
    }
}

fn path_parameters(route: &str) -> Vec<Value> {
    let names = route.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect()
}

/// Returns the header that carries the idempotency key of a request; an expression needs none.
fn idempotency_parameter(config: &ChannelConfig) -> Option<Value> {
    let block = config.deduplication.as_ref().filter(|block| block.key_logic.is_none())?;
    let answer = match block.on_duplicate {
        DuplicatePolicy::Refuse => "is refused with 409",
        DuplicatePolicy::Accept => "is answered with 200 and `{\"status\": \"duplicate\"}`",
        DuplicatePolicy::Replay => {
            "gets the answer of the first request; with another body it is refused with 422"
        }
    };
    let description = format!(
        "The idempotency key. A repeat with the same key within {} seconds {answer}.",
        block.window_secs
    );
    Some(
        json!({"name": block.header.as_ref()?, "in": "header", "required": false, "description": description,
        "schema": {"type": "string"}}),
    )
}

fn request_body(config: &ChannelConfig, schema: &Value) -> Value {
    if events::takes_events(config) {
        return json!({"required": false, "content": events::request_contents(config, schema)});
    }
    let mut content = json!({"schema": schema});
    let examples = config.examples.iter().enumerate();
    let examples: Map<String, Value> = examples
        .filter_map(|(index, example)| {
            Some((example.label(index), json!({"value": example.request.as_ref()?})))
        })
        .collect();
    if !examples.is_empty() {
        content["examples"] = Value::Object(examples);
    }
    let media_type = match config.request.body_format {
        RequestBodyFormat::Form => "application/x-www-form-urlencoded",
        RequestBodyFormat::Text => "text/plain",
        RequestBodyFormat::Csv => "text/csv",
        RequestBodyFormat::Xml => "application/xml",
        RequestBodyFormat::Multipart => "multipart/form-data",
        RequestBodyFormat::Raw => "*/*",
        RequestBodyFormat::Json | RequestBodyFormat::Auto | RequestBodyFormat::CloudEvents => {
            "application/json"
        }
    };
    let mut contents = json!({media_type: content});
    if config.request.body_format == RequestBodyFormat::Auto {
        OTHERS_OF_AUTO.iter().for_each(|other| contents[other] = json!({"schema": schema}));
    }
    json!({"required": config.request.schema.is_some(), "content": contents})
}

fn responses(config: &ChannelConfig, schema: &Value) -> Value {
    if config.request.mode == RequestMode::Accept {
        return accepted_responses(config);
    }
    let is_enveloped = config.response.mode == ResponseMode::Envelope;
    let mut schema = match config.response.mode {
        ResponseMode::Shaped => schema.clone(),
        ResponseMode::Envelope => json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "status": {"type": "string"}, "data": schema,
                "errors": {"type": "array", "items": tolerated_error()}},
            "required": ["status", "data"],
        }),
    };
    if is_enveloped && accepts_repeats(config) {
        schema = json!({"anyOf": [schema, duplicate_schema()]});
    }
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({"description": "The answer of the workflow.", "content": {"application/json": {"schema": schema}}}),
    );
    for (index, example) in config.examples.iter().enumerate() {
        let answer = responses
            .entry(example.status.to_string())
            .or_insert_with(|| json!({"description": "An answer of the workflow."}));
        let Some(response) = &example.response else { continue };
        let value = match is_enveloped && example.status < FIRST_REFUSAL {
            true => json!({"status": "ok", "data": response, "errors": []}),
            false => response.clone(),
        };
        let content = &mut answer["content"]["application/json"];
        content["examples"][example.label(index)] = json!({"value": value});
        if example.status < FIRST_REFUSAL {
            content["schema"] = schema.clone();
        }
    }
    responses.insert("default".to_owned(), error_answer(config));
    Value::Object(responses)
}

/// Returns the schema of an error that a run went on after.
fn tolerated_error() -> Value {
    let text = || json!({"type": "string"});
    let properties = json!({"code": text(), "message": text(), "task_id": text()});
    json!({"type": "object", "properties": properties, "required": ["code", "message"]})
}

/// Returns the responses of a channel that runs its messages later.
fn accepted_responses(config: &ChannelConfig) -> Value {
    let text = || json!({"type": "string"});
    let accepted = json!({"type": "object", "properties": {"trace_id": text(), "trace_token": text()},
        "required": ["trace_id", "trace_token"]});
    let schema = match events::takes_events(config) {
        true => {
            let entry = json!({"anyOf": [accepted, duplicate_schema()]});
            let batch = json!({"type": "object", "properties": {"events": {"type": "array", "items": entry}},
                "required": ["events"]});
            json!({"anyOf": [accepted, batch]})
        }
        false => accepted,
    };
    let answer = |description: &str, schema: Value| {
        let content = json!({"application/json": {"schema": schema}});
        json!({"description": description, "content": content})
    };
    let mut responses = Map::new();
    if accepts_repeats(config) {
        responses.insert("200".to_owned(), answer("The message was accepted before.", duplicate_schema()));
    }
    responses.insert("202".to_owned(), answer("The message is accepted and runs later.", schema));
    responses.insert("default".to_owned(), error_answer(config));
    Value::Object(responses)
}

/// Returns true for a channel that answers repeats with 200.
fn accepts_repeats(config: &ChannelConfig) -> bool {
    config.deduplication.as_ref().is_some_and(|block| block.on_duplicate == DuplicatePolicy::Accept)
}

/// Returns the schema of the answer to a repeat that is accepted.
fn duplicate_schema() -> Value {
    json!({"type": "object", "properties": {"status": {"const": "duplicate"}}, "required": ["status"]})
}

/// Returns the refusals and failures of a channel: the envelope of the service, or the bodies of its own.
fn error_answer(config: &ChannelConfig) -> Value {
    if config.response.error_bodies.is_empty() {
        return json!({"$ref": "#/components/responses/Error"});
    }
    // A body that is too large is refused before the channel is known.
    let mut contents = Map::from_iter([("application/json".to_owned(), json!({}))]);
    contents.extend(config.response.error_bodies.values().map(|body| (body.content_type.clone(), json!({}))));
    json!({"description": "A refusal or a failure, in a body of the channel.", "content": contents})
}

fn error_schema() -> Value {
    let text = || json!({"type": "string"});
    let detail = json!({
        "type": "object",
        "properties": {"path": text(), "code": text(), "message": text()},
        "required": ["path", "code", "message"],
    });
    json!({
        "type": "object",
        "properties": {"error": {
            "type": "object",
            "properties": {
                "code": text(), "message": text(), "request_id": text(), "trace_id": text(),
                // An object only with `SUBMISSION_UNCERTAIN`.
                "details": {"type": ["array", "object"], "items": detail},
            },
            "required": ["code", "message"],
        }},
        "required": ["error"],
    })
}
