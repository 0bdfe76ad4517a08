//! Channels whose messages are events of CloudEvents 1.0, in the documents of their callers.

use serde_json::{Map, Value, json};
use svc_model::ChannelConfig;
use svc_model::config::{RequestBodyFormat, RequestMode};

/// The attributes that every event has, with their descriptions.
const REQUIRED: [(&str, &str); 4] = [
    ("specversion", "The version of CloudEvents"),
    ("id", "The id of the event, one of its source"),
    ("source", "The context of the event, a URI reference"),
    ("type", "The type of the event"),
];

/// Returns `true` for a channel whose messages are events.
pub(crate) fn takes_events(config: &ChannelConfig) -> bool {
    config.request.body_format == RequestBodyFormat::CloudEvents
}

/// Returns the contents of requests by media type: structured, in a batch if the channel accepts its messages, and
/// binary. `payload` is the schema of the data.
pub(crate) fn request_contents(config: &ChannelConfig, payload: &Value) -> Value {
    let event = event_schema(payload);
    let mut structured = json!({"schema": event});
    let examples: Map<String, Value> = config
        .examples
        .iter()
        .enumerate()
        .filter_map(|(index, example)| {
            Some((example.label(index), json!({"value": sample_event(example.request.as_ref()?)})))
        })
        .collect();
    if !examples.is_empty() {
        structured["examples"] = Value::Object(examples);
    }
    let mut contents = json!({
        "application/cloudevents+json": structured,
        "application/json": {"schema": payload},
    });
    if config.request.mode == RequestMode::Accept {
        contents["application/cloudevents-batch+json"] = json!({"schema": {"type": "array", "items": event}});
    }
    contents
}

/// Returns the headers of an event in binary mode, as parameters of a request.
pub(crate) fn header_parameters() -> Vec<Value> {
    let parameter = |(name, description): &(&str, &str)| {
        json!({
            "name": format!("ce-{name}"),
            "in": "header",
            "required": false,
            "description": format!("{description}; needed unless the body has it"),
            "schema": {"type": "string"},
        })
    };
    REQUIRED.iter().map(parameter).collect()
}

/// Returns the schema of the headers of a record in binary mode.
pub(crate) fn record_headers() -> Value {
    let properties: Map<String, Value> = REQUIRED
        .iter()
        .map(|(name, description)| {
            (format!("ce_{name}"), json!({"type": "string", "description": description}))
        })
        .collect();
    let required: Vec<_> = properties.keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns the schema of an event in structured mode.
pub(crate) fn event_schema(payload: &Value) -> Value {
    let mut properties: Map<String, Value> = REQUIRED
        .iter()
        .map(|(name, description)| {
            ((*name).to_owned(), json!({"type": "string", "minLength": 1, "description": description}))
        })
        .collect();
    properties.insert("specversion".to_owned(), json!({"const": "1.0"}));
    for name in ["subject", "datacontenttype", "dataschema"] {
        properties.insert(name.to_owned(), json!({"type": "string", "minLength": 1}));
    }
    properties.insert("time".to_owned(), json!({"type": "string", "format": "date-time"}));
    properties.insert("data".to_owned(), payload.clone());
    properties.insert("data_base64".to_owned(), json!({"type": "string", "contentEncoding": "base64"}));
    let required: Vec<_> = REQUIRED.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns an event with this data.
pub(crate) fn sample_event(data: &Value) -> Value {
    json!({"specversion": "1.0", "id": "1", "source": "/example", "type": "example", "data": data})
}
