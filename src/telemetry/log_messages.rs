//! Messages of the log as OTLP has them.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use slog::Level;
use svc_model::Timestamp;

use crate::process::log_tap::{FieldValue, TappedMessage};

pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Returns the resource of a process.
pub(super) fn resource(service_name: &str, instance_id: &str) -> Resource {
    let named = [
        ("service.name", service_name),
        ("service.version", crate::VERSION),
        ("service.instance.id", instance_id),
    ];
    let text = |(key, value): (&str, &str)| attribute(key, Value::StringValue(value.to_owned()));
    Resource { attributes: named.map(text).to_vec(), ..Resource::default() }
}

/// Returns the scope of everything that the service exports.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "svc".to_owned(),
        version: crate::VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Returns an instant in nanoseconds of Unix time; 0 for one before.
pub(super) fn unix_nanos(at: Timestamp) -> u64 {
    let nanos = at.naive().and_utc().timestamp_nanos_opt();
    nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0)
}

/// Returns the request that exports messages.
pub(super) fn to_request(resource: Resource, messages: Vec<TappedMessage>) -> ExportLogsServiceRequest {
    let log_records = messages.into_iter().map(to_record).collect();
    let scope_logs = ScopeLogs { scope: Some(scope()), log_records, schema_url: String::new() };
    let of_resource =
        ResourceLogs { resource: Some(resource), scope_logs: vec![scope_logs], schema_url: String::new() };
    ExportLogsServiceRequest { resource_logs: vec![of_resource] }
}

fn to_record(message: TappedMessage) -> LogRecord {
    let at = unix_nanos(message.at);
    let (severity_number, severity_text) = severity(message.level);
    let target = attribute("code.namespace", Value::StringValue(message.target));
    let fields = message.fields.into_iter().map(|(key, value)| {
        let value = match value {
            FieldValue::Text(text) => Value::StringValue(text),
            FieldValue::Integer(number) => Value::IntValue(number),
            FieldValue::Float(number) => Value::DoubleValue(number),
            FieldValue::Bool(is_so) => Value::BoolValue(is_so),
        };
        attribute(&key, value)
    });
    LogRecord {
        time_unix_nano: at,
        observed_time_unix_nano: at,
        severity_number,
        severity_text: severity_text.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(message.text)) }),
        attributes: [target].into_iter().chain(fields).collect(),
        ..LogRecord::default()
    }
}

/// Returns number and text of a severity, as the specification of OpenTelemetry has them.
const fn severity(level: Level) -> (i32, &'static str) {
    match level {
        Level::Critical => (21, "FATAL"),
        Level::Error => (17, "ERROR"),
        Level::Warning => (13, "WARN"),
        Level::Info => (9, "INFO"),
        Level::Debug => (5, "DEBUG"),
        Level::Trace => (1, "TRACE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_becomes_a_record_with_attributes() {
        let at = Timestamp::parse_rfc3339("2026-01-02T03:04:05.5Z").unwrap();
        let fields = vec![("count".to_owned(), FieldValue::Integer(3))];
        let (target, text) = ("svc::x".to_owned(), "it happened".to_owned());
        let message = TappedMessage { at, level: Level::Warning, target, text, fields };
        let request = to_request(resource("orders", "n1"), vec![message]);
        let of_resource = &request.resource_logs[0];
        let attributes = &of_resource.resource.as_ref().unwrap().attributes;
        assert_eq!(attributes[0], attribute("service.name", Value::StringValue("orders".to_owned())));
        let record = &of_resource.scope_logs[0].log_records[0];
        assert_eq!((record.severity_number, record.severity_text.as_str()), (13, "WARN"));
        assert_eq!(record.time_unix_nano, 1_767_323_045_500_000_000);
        assert_eq!(record.attributes[1], attribute("count", Value::IntValue(3)));
    }
}
