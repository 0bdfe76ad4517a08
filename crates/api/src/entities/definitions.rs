//! The bodies of requests that create or update a definition, made from the declaration of its document.

use std::borrow::Cow;

use svc_model::config::reference::KeyReference;
use svc_model::documents::{CHANNEL, CONNECTOR, WORKFLOW};
use svc_model::{Channel, Connector, Workflow};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, SchemaType};
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Declares bodies: the name in the document, the keys, and of an update those that it cannot set.
macro_rules! bodies {
    ($($(#[doc = $about:literal])+ $name:ident as $shown:literal = $keys:ident $(without $fixed:expr)?;)+) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let fixed: &[&[&str]] = &[$(&$fixed)?];
                body(&[$($about.trim()),+].join(" "), &$keys, fixed.first().copied())
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($shown)
            }
        }
    )+ };
}

bodies! {
    /// The body of the creation of a channel. `null` counts as absent; read-only members of a response are ignored.
    ChannelDefinition as "NewChannel" = CHANNEL;
    /// The body of an update of a draft. An absent or `null` member keeps its value (`null` removes `description`);
    /// an empty text or list clears it. `******` keeps the stored secret at the same place. Read-only members are
    /// ignored.
    ChannelUpdate as "ChannelUpdate" = CHANNEL without Channel::ONLY_READ;
    /// The body of the creation of a workflow. `null` counts as absent; read-only members of a response are ignored.
    WorkflowDefinition as "NewWorkflow" = WORKFLOW;
    /// The body of an update of a draft. An absent member keeps its value; `null` removes `description` and `loop`
    /// and keeps every other. Read-only members of a response are ignored.
    WorkflowUpdate as "WorkflowUpdate" = WORKFLOW without Workflow::ONLY_READ;
    /// The body of the creation of a connector. `null` counts as absent; read-only members of a response are ignored.
    ConnectorDefinition as "NewConnector" = CONNECTOR;
    /// The body of an update. An absent member keeps its value; `config` replaces the stored one, `******` in it
    /// keeps the stored secret at the same place. Read-only members are ignored.
    ConnectorUpdate as "ConnectorUpdate" = CONNECTOR without Connector::ONLY_READ;
}

/// Returns the schema of a body; `fixed` are the keys that an update cannot set.
fn body(about: &str, keys: &[KeyReference], fixed: Option<&[&str]>) -> RefOr<Schema> {
    let mut object = ObjectBuilder::new().description(Some(about));
    for key in keys.iter().filter(|key| fixed.is_none_or(|fixed| !fixed.contains(&key.name))) {
        let is_required = key.required && fixed.is_none();
        object = object.property(key.name, value(key, is_required, fixed.is_none()));
        if is_required {
            object = object.required(key.name);
        }
    }
    object.into()
}

/// Returns the schema of a value, which may be null if it is not required. A new definition has the words of a choice.
fn value(key: &KeyReference, is_required: bool, has_words: bool) -> RefOr<Schema> {
    let kind = |kind: Type| match is_required {
        true => SchemaType::from(kind),
        false => [kind, Type::Null].into_iter().collect(),
    };
    let scalar = ObjectBuilder::new().description(Some(key.description));
    match key.kind {
        "boolean" => scalar.schema_type(kind(Type::Boolean)).into(),
        "integer" => {
            let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
            scalar.schema_type(kind(Type::Integer)).format(Some(format)).into()
        }
        "expression" => scalar.schema_type(SchemaType::AnyValue).into(),
        "object" | "block" => scalar.schema_type(kind(Type::Object)).into(),
        "steps" => {
            let steps = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Object));
            let steps = steps.schema_type(kind(Type::Array)).min_items(Some(1));
            steps.description(Some(key.description)).into()
        }
        list if list.starts_with("list of ") => {
            let texts = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String));
            texts.schema_type(kind(Type::Array)).description(Some(key.description)).into()
        }
        words if words.contains('`') && has_words => {
            let words = words.split('`').skip(1).step_by(2);
            scalar.schema_type(Type::String).enum_values(Some(words)).into()
        }
        _ => {
            let text = scalar.schema_type(kind(Type::String)).max_length(key.max_length);
            text.min_length(key.min_length).pattern(key.pattern).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schema<T: PartialSchema>() -> Value {
        serde_json::to_value(T::schema()).unwrap()
    }

    #[test]
    fn new_definition_needs_required_keys() {
        assert_eq!(schema::<ChannelDefinition>()["required"], json!(["name", "protocol"]));
        assert_eq!(schema::<WorkflowDefinition>()["required"], json!(["name", "tasks"]));
        assert_eq!(schema::<ConnectorDefinition>()["required"], json!(["name", "connector_type"]));
    }

    #[test]
    fn update_needs_no_key_and_omits_fixed_ones() {
        let update = schema::<ChannelUpdate>();
        assert!(update.get("required").is_none());
        for name in ["channel_id", "channel_type", "protocol"] {
            assert!(update["properties"].get(name).is_none(), "{name}");
        }
        let name = &update["properties"]["name"];
        assert_eq!(name["type"], json!(["string", "null"]));
        assert_eq!((&name["minLength"], &name["maxLength"]), (&json!(1), &json!(255)));
    }

    #[test]
    fn members_have_types_of_declared_kinds() {
        let workflow = &schema::<WorkflowDefinition>()["properties"];
        assert_eq!(workflow["tasks"]["minItems"], json!(1));
        assert_eq!(workflow["priority"]["format"], json!("int64"));
        assert_eq!(workflow["continue_on_error"]["type"], json!(["boolean", "null"]));
        assert_eq!(workflow["tags"]["items"], json!({"type": "string"}));
        assert!(workflow["condition"].get("type").is_none());
        let channel = &schema::<ChannelDefinition>()["properties"];
        assert_eq!(channel["protocol"]["enum"], json!(["rest", "http", "kafka", "cron"]));
        assert_eq!(channel["channel_id"]["pattern"], json!("^[A-Za-z0-9][A-Za-z0-9._-]*$"));
    }
}
