//! The requests that a channel takes: their methods and the formats of their bodies.
//!
//! A recording has the method of a request, and the payload that its body became, but not its content type: that follows
//! from the format that the version of the recorded runs reads, if it reads one alone.

use svc_model::ChannelConfig;
use svc_model::config::RequestBodyFormat::{self, Csv, Form, Json, Multipart, Text, Xml};

use super::recorded_line::RecordedLine;

/// The source of a run whose caller waited for the answer.
pub(super) const ANSWERED: &str = "sync";

/// The key of the methods of a channel, and that of the format of its bodies.
const METHODS: &str = "methods";
const BODY: &str = "request.body";

/// The requests that a channel takes.
#[derive(Clone, Debug)]
pub(super) struct ChannelIntake {
    /// The methods of its route; empty if it takes all.
    methods: Vec<String>,
    /// True if it answers to its name, by which it takes POST whatever its route takes.
    is_named: bool,
    /// True if browsers are sent back to it, by GET.
    has_sign_in: bool,
    format: RequestBodyFormat,
    /// The format that the version of the recorded runs reads, if it is known.
    recorded_format: Option<RequestBodyFormat>,
}

/// The refusal of a request: the key that refuses it, and the reason.
pub(super) type IntakeRefusal = (&'static str, String);

impl ChannelIntake {
    /// Returns what a channel with this config takes, by every method.
    pub(super) fn new(config: &ChannelConfig) -> Self {
        Self {
            methods: Vec::new(),
            is_named: config.request.by_name,
            has_sign_in: config.oauth2_login.is_some(),
            format: config.request.body_format,
            recorded_format: None,
        }
    }

    /// Restricts it to the methods of a route; an empty list takes all.
    pub(super) fn restrict(&mut self, methods: &[String]) {
        self.methods = methods.iter().map(|method| method.to_ascii_uppercase()).collect();
    }

    /// Sets the version of the recorded runs.
    pub(super) const fn set_recorded(&mut self, config: &ChannelConfig) {
        self.recorded_format = Some(config.request.body_format);
    }

    /// Returns the keys that recorded runs are judged by, and those that are set and cannot be judged.
    pub(super) fn describe(&self, is_body_set: bool) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut judged = Vec::new();
        if !self.methods.is_empty() {
            judged.push(METHODS);
        }
        let is_body_judged = self.recorded_format.is_some_and(is_one_type);
        if is_body_set && is_body_judged {
            judged.push(BODY);
        }
        (judged, if is_body_set && !is_body_judged { vec![BODY] } else { Vec::new() })
    }

    /// Finds the reason for which the channel refuses a recorded request before it looks at its message.
    pub(super) fn find_refusal(&self, line: &RecordedLine) -> Option<IntakeRefusal> {
        let recording = &line.recording;
        // Only requests have one.
        let method = recording.metadata.get("http_method")?.as_str()?;
        let is_answered = line.source.as_deref() == Some(ANSWERED);
        if is_answered && !self.takes(method, recording.metadata.contains_key("params")) {
            let reason =
                format!("the request has method {method}; its route takes {}", self.methods.join(", "));
            return Some((METHODS, reason));
        }
        // Without a body there is no content type to refuse.
        let has_body = recording.payload.as_object().is_none_or(|members| !members.is_empty());
        let recorded = self.recorded_format.filter(|_| has_body)?;
        refuses(self.format, recorded).then(|| {
            let (recorded, format) = (word_of(recorded), word_of(self.format));
            (BODY, format!("the request has a body that '{recorded}' reads, and '{format}' does not"))
        })
    }

    fn takes(&self, method: &str, is_routed: bool) -> bool {
        let is_listed = |method: &str| self.methods.iter().any(|listed| listed.eq_ignore_ascii_case(method));
        let may_be_by_name = self.is_named && !is_routed && method.eq_ignore_ascii_case("POST");
        self.methods.is_empty()
            || self.has_sign_in
            || may_be_by_name
            || is_listed(method)
            || (method.eq_ignore_ascii_case("HEAD") && is_listed("GET"))
    }
}

/// Returns true for a format that reads bodies of one kind alone.
const fn is_one_type(format: RequestBodyFormat) -> bool {
    matches!(format, Json | Form | Text | Csv | Xml | Multipart)
}

/// Returns true if a format refuses every body that another one reads.
fn refuses(format: RequestBodyFormat, recorded: RequestBodyFormat) -> bool {
    if format == recorded || !is_one_type(format) || !is_one_type(recorded) {
        return false;
    }
    // Rows, and some XML, are types of text.
    !matches!((format, recorded), (Text, Csv | Xml) | (Csv | Xml, Text))
}

/// Returns the word of a format in a config.
const fn word_of(format: RequestBodyFormat) -> &'static str {
    match format {
        Json => "json",
        Form => "form",
        Text => "text",
        Csv => "csv",
        Xml => "xml",
        Multipart => "multipart",
        RequestBodyFormat::Raw => "raw",
        RequestBodyFormat::Auto => "auto",
        RequestBodyFormat::CloudEvents => "cloudevents",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use svc_engine::RunRecording;

    use super::*;

    fn intake(config: &Value, recorded: &Value, methods: &[&str]) -> ChannelIntake {
        let parse = |config: &Value| ChannelConfig::parse(config).unwrap();
        let mut intake = ChannelIntake::new(&parse(config));
        intake.set_recorded(&parse(recorded));
        intake.restrict(&methods.iter().map(|method| (*method).to_owned()).collect::<Vec<_>>());
        intake
    }

    fn line(metadata: Value, payload: Value) -> RecordedLine {
        let Value::Object(metadata) = metadata else { panic!("{metadata} is no object") };
        let recording = RunRecording { metadata, payload, ..RunRecording::default() };
        RecordedLine {
            source: Some(ANSWERED.into()),
            recording: Arc::new(recording),
            ..RecordedLine::default()
        }
    }

    #[test]
    fn method_that_is_not_listed_is_refused() {
        let nothing = json!({});
        let get = intake(&nothing, &nothing, &["GET"]);
        let refusal = |intake: &ChannelIntake, metadata: Value| {
            intake.find_refusal(&line(metadata, json!({}))).map(|(key, _)| key)
        };
        assert_eq!(refusal(&get, json!({"http_method": "PUT"})), Some(METHODS));
        assert_eq!(refusal(&get, json!({"http_method": "HEAD"})), None);
        assert_eq!(refusal(&get, json!({"http_method": "POST"})), None, "by its name it takes POST");
        let routed = json!({"http_method": "POST", "params": {"id": "7"}});
        assert_eq!(refusal(&get, routed), Some(METHODS), "a name has no parameters");
        let unnamed = intake(&json!({"request": {"by_name": false}}), &nothing, &["GET"]);
        assert_eq!(refusal(&unnamed, json!({"http_method": "POST"})), Some(METHODS));
        assert_eq!(refusal(&get, nothing.clone()), None, "a record of Kafka has no method");
        assert_eq!(refusal(&intake(&nothing, &nothing, &[]), json!({"http_method": "PUT"})), None);
        let accepted =
            RecordedLine { source: Some("async".into()), ..line(json!({"http_method": "PUT"}), json!({})) };
        assert_eq!(get.find_refusal(&accepted), None);
    }

    #[test]
    fn body_of_another_format_is_refused() {
        let config = |format: &str| json!({"request": {"body": format}});
        let refuses = |format: &str, recorded: &str, payload: Value| {
            let line = line(json!({"http_method": "POST"}), payload);
            intake(&config(format), &config(recorded), &[]).find_refusal(&line).is_some()
        };
        for (format, recorded, expected) in [
            ("form", "json", true),
            ("json", "form", true),
            ("json", "json", false),
            ("auto", "form", false),
            ("raw", "json", false),
            ("form", "auto", false),
            ("text", "csv", false),
            ("text", "json", true),
        ] {
            assert_eq!(refuses(format, recorded, json!({"n": 1})), expected, "{recorded} → {format}");
        }
        assert!(!refuses("form", "json", json!({})), "there may be no body");
        let described = intake(&config("form"), &config("json"), &["GET"]).describe(true);
        assert_eq!(described, (vec![METHODS, BODY], vec![]));
        assert_eq!(intake(&config("form"), &config("auto"), &[]).describe(true), (vec![], vec![BODY]));
    }
}
