//! Functions with the inputs of those of the service, which cannot be run.

use std::sync::Arc;

use serde_json::Value;
use svc_engine::catalogue::{
    ConnectorRequirement, DefaultInput, DefaultOutput, FunctionEntry, FunctionTarget, InputField, PathUse,
    QueryLanguage, SentForm,
};
use svc_engine::{CompileCx, CompiledTask, Engine, EngineBuilder, Function};
use svc_model::ConnectorType;

static CHANNEL_CALL: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::string("channel", "").required().alias("channel_logic").sent_as(SentForm::Name),
        InputField::any("data", "").overridden_by("data_logic").or_default(DefaultInput::Payload),
        InputField::output().alias("response_path"),
    ],
    target: FunctionTarget::Channel,
    default_output: DefaultOutput::MergesIntoData,
    ..FunctionEntry::utility("channel_call", "")
};

static DATA_QUERY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::connector(""),
        InputField::object("query", "").required().resolvable().dialect(&["values", "set"]),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "data_query",
        "",
        ConnectorRequirement::new(&[ConnectorType::Db, ConnectorType::Es]),
    )
};

static DATA_WRITE: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::connector(""),
        InputField::object("write", "").required().resolvable().dialect(&["values", "set"]),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "data_write",
        "",
        ConnectorRequirement::new(&[ConnectorType::Db, ConnectorType::Es]),
    )
};

static DB_READ: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::connector(""),
        InputField::string("query", "").required(),
        InputField::array("params", "").resolvable(),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "db_read",
        "",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::Sql),
    )
};

static HTTP_CALL: FunctionEntry = FunctionEntry {
    strict: true,
    fields: &[
        InputField::logic("idempotency_key", ""),
        InputField::connector(""),
        InputField::string("method", "").one_of(&["GET", "POST"]).or_default(DefaultInput::Text("GET")),
        InputField::string("path", "").overridden_by("path_logic").sent_as(SentForm::TextOrEmpty),
        InputField::object("headers", "").sent_as(SentForm::ObjectOrNothing),
        InputField::any("body", "").overridden_by("body_logic"),
        InputField::string("output", "")
            .alias("response_path")
            .path(PathUse::Target { alone: false })
            .sent_as(SentForm::Unsent),
    ],
    default_output: DefaultOutput::Discarded,
    ..FunctionEntry::connector("http_call", "", ConnectorRequirement::new(&[ConnectorType::Http]))
};

static PUBLISH_KAFKA: FunctionEntry = FunctionEntry {
    strict: true,
    fields: &[
        InputField::connector(""),
        InputField::string("topic", "").computed(),
        InputField::logic("key", "").alias("key_logic").sent_as(SentForm::Text),
        InputField::logic("value", "")
            .alias("value_logic")
            .or_default(DefaultInput::Data)
            .unless("tombstone"),
        InputField::bool("tombstone", ""),
    ],
    ..FunctionEntry::connector(
        "publish_kafka",
        "",
        ConnectorRequirement::new(&[ConnectorType::Kafka]).inheriting("topic"),
    )
};

static MONGO_READ: FunctionEntry = FunctionEntry {
    fields: &[InputField::connector(""), InputField::string("database", "").required(), InputField::output()],
    ..FunctionEntry::connector(
        "mongo_read",
        "",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
    )
};

/// A function that is declared and never run.
struct Declared(&'static FunctionEntry);

impl Function for Declared {
    fn entry(&self) -> &'static FunctionEntry {
        self.0
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Err("it is only declared".to_owned())
    }
}

/// An engine that knows the declared functions.
pub(crate) fn engine() -> Engine {
    let entries =
        [&CHANNEL_CALL, &DATA_QUERY, &DATA_WRITE, &DB_READ, &HTTP_CALL, &MONGO_READ, &PUBLISH_KAFKA];
    let register = |builder: EngineBuilder, entry| builder.function(Arc::new(Declared(entry)));
    entries.into_iter().fold(Engine::builder(), register).build()
}
