//! The AsyncAPI document of channels that take the records of a topic.

use serde_json::{Map, Value, json};
use svc_model::ChannelConfig;
use svc_model::config::RequestBodyFormat;

use crate::DocumentedChannel;
use crate::channel::sorted;
use crate::components::{SchemaComponents, component_name};
use crate::events;

/// The messages of a topic that `auto` takes other than JSON, with the types by which their headers choose them.
const OTHERS_OF_AUTO: [(&str, &str); 3] =
    [("text", "text/plain"), ("csv", "text/csv"), ("xml", "application/xml")];

/// Makes the AsyncAPI 3.0 document of the channels that take the records of a topic.
pub fn asyncapi_document(title: &str, channels: &[DocumentedChannel], tag: Option<&str>) -> Value {
    let (mut described, mut operations) = (Map::new(), Map::new());
    let mut schemas = SchemaComponents::default();
    for channel in sorted(channels) {
        let Some(topic) = channel.documented_topic(tag) else { continue };
        let (content, config) = (&channel.content, &channel.config);
        let name = component_name(&content.name);
        let schema = config.request.schema.as_ref();
        let schema =
            schema.map_or_else(|| json!({}), |schema| schemas.add(&format!("{name}.record"), schema));
        let tags: Vec<_> = content.tags.iter().map(|tag| json!({"name": tag})).collect();
        described.insert(
            name.clone(),
            json!({
                "address": topic,
                "title": content.name,
                "description": content.description.as_deref().unwrap_or_default(),
                "messages": record_messages(config, &schema),
            }),
        );
        operations.insert(
            format!("receive_{name}"),
            json!({"action": "receive", "channel": {"$ref": format!("#/channels/{name}")}, "tags": tags}),
        );
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {"title": title, "version": "1"},
        "defaultContentType": "application/json",
        "channels": described,
        "operations": operations,
        "components": {"schemas": schemas.finish()},
    })
}

/// Returns the messages that a channel takes of its topic; `schema` is that of their payloads.
fn record_messages(config: &ChannelConfig, schema: &Value) -> Map<String, Value> {
    let examples = config.examples.iter().enumerate();
    let examples: Vec<_> = examples
        .filter_map(|(index, example)| {
            Some(json!({"name": example.label(index), "payload": example.request.as_ref()?}))
        })
        .collect();
    let format = config.request.body_format;
    let mut record = json!({"contentType": media_type(format), "payload": schema, "examples": examples});
    let mut messages = Map::new();
    if events::takes_events(config) {
        record["headers"] = events::record_headers();
        let payload = events::event_schema(schema);
        let event = json!({"contentType": "application/cloudevents+json", "payload": payload});
        messages.insert("event".to_owned(), event);
    }
    messages.insert("record".to_owned(), record);
    if format == RequestBodyFormat::Auto {
        messages.extend(OTHERS_OF_AUTO.map(|(name, media_type)| {
            let header = json!({"type": "string", "pattern": format!("^{media_type}")});
            let headers = json!({"type": "object", "properties": {"content-type": header},
                "required": ["content-type"]});
            (name.to_owned(), json!({"contentType": media_type, "payload": schema, "headers": headers}))
        }));
    }
    if let Some(header) = idempotency_header(config) {
        let description = "The idempotency key; without it that of the record counts";
        for message in messages.values_mut() {
            message["headers"]["type"] = json!("object");
            message["headers"]["properties"][header] = json!({"type": "string", "description": description});
        }
    }
    messages
}

/// Returns the media type of values that are read so.
fn media_type(format: RequestBodyFormat) -> &'static str {
    match format {
        RequestBodyFormat::Text => "text/plain",
        RequestBodyFormat::Csv => "text/csv",
        RequestBodyFormat::Xml => "application/xml",
        RequestBodyFormat::Raw => "application/octet-stream",
        // Records are not read as forms. Of events this is the type of the data.
        RequestBodyFormat::Json
        | RequestBodyFormat::Auto
        | RequestBodyFormat::CloudEvents
        | RequestBodyFormat::Form
        | RequestBodyFormat::Multipart => "application/json",
    }
}

/// Returns the header that carries the idempotency key of a record; an expression needs none.
fn idempotency_header(config: &ChannelConfig) -> Option<&str> {
    config.deduplication.as_ref().filter(|block| block.key_logic.is_none())?.header.as_deref()
}
