//! The AsyncAPI document of channels that take the records of a topic.

use serde_json::{Map, Value, json};

use crate::DocumentedChannel;
use crate::channel::sorted;
use crate::components::{SchemaComponents, component_name};
use crate::events;

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
        let examples = config.examples.iter().enumerate();
        let examples: Vec<_> = examples
            .filter_map(|(index, example)| {
                Some(json!({"name": example.label(index), "payload": example.request.as_ref()?}))
            })
            .collect();
        let mut record = json!({"contentType": "application/json", "payload": schema, "examples": examples});
        let mut messages = Map::new();
        if events::takes_events(config) {
            record["headers"] = events::record_headers();
            let payload = events::event_schema(&schema);
            let event = json!({"contentType": "application/cloudevents+json", "payload": payload});
            messages.insert("event".to_owned(), event);
        }
        messages.insert("record".to_owned(), record);
        let tags: Vec<_> = content.tags.iter().map(|tag| json!({"name": tag})).collect();
        described.insert(
            name.clone(),
            json!({
                "address": topic,
                "title": content.name,
                "description": content.description.as_deref().unwrap_or_default(),
                "messages": messages,
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
