//! The parts of a run that are not recorded: metadata that its version does not read, credentials, and the paths that the
//! channel names.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use serde_json::{Map, Value};
use svc_model::config::split_recorded_path;
use svc_model::mask::{CREDENTIAL_HEADERS, MASK, looks_secret};

use super::{RecordedCallError, RunRecording};
use crate::redaction::Redaction;

/// Members of the metadata of which only the named parts are recorded.
const BY_NAME: [&str; 3] = ["headers", "cookies", "auth"];

/// Members of the metadata that every recording has, if they are there.
const ALWAYS: [&str; 7] = ["channel", "http_method", "params", "query", "vars", "trigger", RUN];

/// The header of an answer that holds credentials although its name does not say so.
const SET_COOKIE: &str = "set-cookie";

/// The member with the facts that a credential proves, and its member with the claims of a token.
const AUTH: &str = "auth";
const CLAIMS: &str = "claims";

/// The member with the tokens of a sign-in.
const OAUTH: &str = "oauth";

/// The member with the key of the run, which is no credential although its name suggests one: calls are made with it.
const RUN: &str = "run";

/// The metadata that a version of a workflow, or an expression, names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataReads {
    /// By member: the parts of it that are named; empty if the whole of it is.
    members: BTreeMap<String, BTreeSet<String>>,
    /// The claims of the caller that are named; empty if all of them are, or none.
    claims: BTreeSet<String>,
    reads_all_claims: bool,
    /// True if the whole of the metadata is named.
    reads_all: bool,
}

impl MetadataReads {
    /// Collects the paths below `metadata` that the parts of a document name.
    #[must_use]
    pub fn collect<'v>(parts: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut reads = Self::default();
        parts.into_iter().for_each(|part| reads.visit(part));
        reads
    }

    fn visit(&mut self, part: &Value) {
        match part {
            Value::String(path) => self.add(path.split('.')),
            Value::Array(items) if items.first().and_then(Value::as_str) == Some("metadata") => {
                self.add(items.iter().map_while(Value::as_str));
                items.iter().skip(1).filter(|item| !item.is_string()).for_each(|item| self.visit(item));
            }
            Value::Array(items) => items.iter().for_each(|item| self.visit(item)),
            Value::Object(members) => members.values().for_each(|member| self.visit(member)),
            _ => {}
        }
    }

    fn add<'p>(&mut self, path: impl Iterator<Item = &'p str>) {
        let mut path = path.map(|segment| segment.strip_prefix('#').unwrap_or(segment));
        if path.next() != Some("metadata") {
            return;
        }
        let Some(member) = path.next() else {
            self.reads_all = true;
            return;
        };
        let is_new = !self.members.contains_key(member);
        let parts = self.members.entry(member.to_owned()).or_default();
        let Some(part) = path.next() else {
            parts.clear();
            return;
        };
        if is_new || !parts.is_empty() {
            parts.insert(part.to_ascii_lowercase());
        }
        if member == AUTH && part == CLAIMS {
            match path.next() {
                Some(claim) => self.claims.extend([claim.to_owned()]),
                None => self.reads_all_claims = true,
            }
        }
    }

    /// Returns the metadata of a message that are recorded. The values that are masked in them are added to `masked`.
    pub(super) fn select(
        &self,
        metadata: &Map<String, Value>,
        masked: &mut Vec<Value>,
    ) -> Map<String, Value> {
        let is_read =
            |name: &str| self.reads_all || self.members.contains_key(name) || ALWAYS.contains(&name);
        let read = metadata.iter().filter(|(name, _)| is_read(name));
        read.map(|(name, value)| (name.clone(), self.select_member(name, value, masked))).collect()
    }

    fn select_member(&self, name: &str, value: &Value, masked: &mut Vec<Value>) -> Value {
        let mut value = value.clone();
        if name == OAUTH
            && let Value::Object(oauth) = &mut value
        {
            oauth.remove("grant");
        }
        if BY_NAME.contains(&name)
            && let (Value::Object(members), Some(parts)) = (&mut value, self.members.get(name))
            && !parts.is_empty()
            && !self.reads_all
        {
            members.retain(|part, _| parts.contains(&part.to_ascii_lowercase()));
            if let Some(Value::Object(claims)) = members.get_mut(CLAIMS).filter(|_| name == AUTH)
                && !self.reads_all_claims
            {
                claims.retain(|claim, _| self.claims.contains(claim));
            }
        }
        if name != RUN {
            mask_members(&mut value, masked);
        }
        value
    }
}

/// Adds the members that are not there, at every depth.
pub(super) fn add_members(members: &mut Map<String, Value>, others: Map<String, Value>) {
    for (name, other) in others {
        if let Some(Value::Object(own)) = members.get_mut(&name) {
            if let Value::Object(other) = other {
                add_members(own, other);
            }
        } else {
            members.entry(name).or_insert(other);
        }
    }
}

/// Masks the values under names of credentials, at any depth, and adds them to `masked`.
fn mask_members(value: &mut Value, masked: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask_members(item, masked)),
        Value::Object(members) => {
            for (name, member) in members {
                let header = name.to_ascii_lowercase();
                let is_header = CREDENTIAL_HEADERS.contains(&header.as_str()) || header == SET_COOKIE;
                match is_header || looks_secret(name) {
                    true => mask_credential(member, masked),
                    false => mask_members(member, masked),
                }
            }
        }
        _ => {}
    }
}

/// Masks a credential, or each of a list. Members of an object have names of their own.
fn mask_credential(value: &mut Value, masked: &mut Vec<Value>) {
    match value {
        Value::String(text) if text.is_empty() || text.as_str() == MASK => {}
        Value::String(_) => masked.push(mem::replace(value, MASK.into())),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_credential(item, masked)),
        value => mask_members(value, masked),
    }
}

/// Masks the credentials that a shaped answer hands out: cookies that no script of a page may read, and headers with
/// names of credentials.
pub(super) fn mask_answer(data: &mut Value) {
    let Some(Value::Object(answer)) = data.pointer_mut("/_svc/response") else { return };
    if let Some(headers) = answer.get_mut("headers") {
        mask_members(headers, &mut Vec::new());
    }
    let cookies = answer.get_mut("cookies").and_then(Value::as_array_mut).into_iter().flatten();
    for cookie in cookies.filter(|cookie| cookie["http_only"] == true) {
        if let Some(value) = cookie.get_mut("value") {
            mask_credential(value, &mut Vec::new());
        }
    }
}

/// A path of a recording whose value is left out, such as `payload.card.number` or `payload.cards[0]`. A name goes through
/// every element of an array that it meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropPath(Vec<String>);

impl DropPath {
    /// Reads a path.
    ///
    /// # Errors
    /// The reason, for the author.
    pub fn parse(text: &str) -> Result<Self, String> {
        split_recorded_path(text).map(Self)
    }

    fn below(&self, root: &str) -> Option<&[String]> {
        self.0.split_first().filter(|(first, _)| *first == root).map(|(_, rest)| rest)
    }
}

/// Leaves the values at these paths out of a recording, and masks them, and those that are `masked` in its metadata, in
/// its rest.
pub(super) fn drop_paths(recording: &mut RunRecording, paths: &[DropPath], masked: &[Value]) {
    let mut dropped = Vec::new();
    for path in paths {
        let count = dropped.len();
        if let Some(rest) = path.below("payload") {
            take(&mut recording.payload, rest, &mut dropped);
        }
        if let Some(rest) = path.below("metadata") {
            let mut metadata = Value::Object(mem::take(&mut recording.metadata));
            take(&mut metadata, rest, &mut dropped);
            if let Value::Object(metadata) = metadata {
                recording.metadata = metadata;
            }
        }
        if let Some(rest) = path.below("data") {
            take(&mut recording.end.data, rest, &mut dropped);
        }
        for call in &mut recording.calls {
            if let Some(rest) = path.below("input") {
                take(&mut call.input, rest, &mut dropped);
            }
            if let Some(rest) = path.below("answer") {
                take(&mut call.answer, rest, &mut dropped);
                if let Some(error) = &mut call.error {
                    drop_from_error(error, rest, &mut dropped);
                }
            }
        }
        if dropped.len() > count {
            recording.dropped.push(path.0.clone());
        }
    }
    // A name alone has made credentials of the masked values: a short one would be found by accident.
    let redaction = Redaction::default().with(&dropped).with_derived(masked);
    if redaction.is_empty() {
        return;
    }
    redaction.mask(&mut recording.payload);
    recording.metadata.values_mut().for_each(|value| redaction.mask(value));
    redaction.mask(&mut recording.end.data);
    recording.end.errors.iter_mut().for_each(|errors| redaction.mask(errors));
    recording.drawn.iter_mut().for_each(|drawn| redaction.mask(&mut drawn.value));
    for call in &mut recording.calls {
        redaction.mask(&mut call.input);
        redaction.mask(&mut call.answer);
        if let Some(error) = &mut call.error {
            error.message = redaction.mask_text(mem::take(&mut error.message));
            error.body.iter_mut().for_each(|body| redaction.mask(body));
        }
    }
}

/// Takes what is at a path out of the answer of a call that failed. Its beginning in the text of the error goes as a whole:
/// there it is cut, so that no path leads through it.
fn drop_from_error(error: &mut RecordedCallError, path: &[String], taken: &mut Vec<Value>) {
    if let Some(body) = &mut error.body {
        take(body, path, taken);
    }
    if let Some(at) = error.message.find(['{', '[']) {
        error.message.truncate(at);
        error.message.push_str(MASK);
    }
}

/// Takes what is at a path out of a value.
fn take(value: &mut Value, path: &[String], taken: &mut Vec<Value>) {
    let Some((segment, rest)) = path.split_first() else { return };
    match value {
        Value::Array(items) => match segment.parse::<usize>() {
            Ok(index) => {
                if let Some(item) = items.get_mut(index) {
                    take_or_enter(item, rest, taken);
                }
            }
            Err(_) => items.iter_mut().for_each(|item| take(item, path, taken)),
        },
        Value::Object(members) if rest.is_empty() => taken.extend(members.remove(segment)),
        Value::Object(members) => {
            if let Some(member) = members.get_mut(segment) {
                take(member, rest, taken);
            }
        }
        _ => {}
    }
}

fn take_or_enter(item: &mut Value, rest: &[String], taken: &mut Vec<Value>) {
    if rest.is_empty() {
        taken.push(item.take());
    } else {
        take(item, rest, taken);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::recording::CallRecording;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn select(reads: &MetadataReads, metadata: Value) -> Map<String, Value> {
        reads.select(&map(metadata), &mut Vec::new())
    }

    #[test]
    fn metadata_named_by_the_version_is_selected() {
        let reads = MetadataReads::collect([&json!([
            {"var": "metadata.headers.X-Tenant"},
            {"val": ["metadata", "auth", "claims"]},
            "metadata.headers.authorization",
        ])]);
        let selected = select(
            &reads,
            json!({
                "channel": "orders",
                "headers": {"x-tenant": "a", "x-other": "b", "authorization": "Bearer x"},
                "cookies": {"sid": "1"},
                "auth": {"claims": {"sub": "u", "client_secret": "s"}, "principal": "p"},
            }),
        );
        let expected = json!({
            "channel": "orders",
            "headers": {"x-tenant": "a", "authorization": MASK},
            "auth": {"claims": {"sub": "u", "client_secret": MASK}},
        });
        assert_eq!(Value::Object(selected), expected);
    }

    #[test]
    fn key_of_the_run_is_not_masked() {
        let metadata = json!({"run": {"key": "k-1"}, "query": {"key": "s"}});
        let selected = select(&MetadataReads::default(), metadata);
        assert_eq!(Value::Object(selected), json!({"run": {"key": "k-1"}, "query": {"key": MASK}}));
    }

    #[test]
    fn each_credential_of_a_list_is_masked() {
        let reads = MetadataReads::collect([&json!({"var": "metadata.auth.claims"})]);
        let claims = json!({"sub": "u", "api_tokens": ["tok-1", "tok-2", ""], "roles": ["a"]});
        let mut masked = Vec::new();
        let selected = reads.select(&map(json!({"auth": {"claims": claims}})), &mut masked);
        let expected = json!({"sub": "u", "api_tokens": [MASK, MASK, ""], "roles": ["a"]});
        assert_eq!(selected["auth"]["claims"], expected);
        assert_eq!(masked, [json!("tok-1"), json!("tok-2")]);
    }

    #[test]
    fn grant_of_a_sign_in_is_never_selected() {
        let reads = MetadataReads::collect([&json!({"var": "metadata"})]);
        let selected = select(
            &reads,
            json!({
                "oauth": {"state": "s", "grant": {"access_token": "t"}}
            }),
        );
        assert_eq!(Value::Object(selected), json!({"oauth": {"state": "s"}}));
    }

    #[test]
    fn dropped_value_is_masked_in_the_rest() {
        let mut recording = RunRecording {
            payload: json!({"cards": [{"number": "4111111111111111", "name": "n"}]}),
            ..RunRecording::default()
        };
        recording.end.data = json!({"echo": "card 4111111111111111"});
        let path = DropPath::parse("payload.cards.number").unwrap();
        drop_paths(&mut recording, &[path], &[]);
        assert_eq!(recording.payload, json!({"cards": [{"name": "n"}]}));
        assert_eq!(recording.end.data, json!({"echo": format!("card {MASK}")}));
    }

    #[test]
    fn dropped_element_and_failed_answer_are_left_out() {
        let error = RecordedCallError {
            message: "the answer has the status 503: {\"card\": \"4111\"}".into(),
            body: Some(json!({"card": "4111", "rows": [{"pin": "9988"}, {"pin": "7766"}]})),
            ..RecordedCallError::default()
        };
        let call = CallRecording { error: Some(error), ..CallRecording::default() };
        let payload = json!({"cards": [{"number": "5555666677778888"}, {"number": "1"}]});
        let mut recording = RunRecording { payload, calls: vec![call], ..RunRecording::default() };
        let paths = ["payload.cards[0].number", "answer.card", "answer.rows[1]"].map(DropPath::parse);
        drop_paths(&mut recording, &paths.map(Result::unwrap), &[]);
        assert_eq!(recording.payload, json!({"cards": [{}, {"number": "1"}]}));
        let error = recording.calls[0].error.as_ref().unwrap();
        assert_eq!(error.body, Some(json!({"rows": [{"pin": "9988"}, null]})));
        assert_eq!(error.message, format!("the answer has the status 503: {MASK}"));
        assert!(recording.lacks_sources(), "{:?}", recording.dropped);
    }

    #[test]
    fn dropped_parts_are_named() {
        let call = CallRecording { input: json!({"body": {"pin": 1}}), ..CallRecording::default() };
        let mut recording = RunRecording { calls: vec![call], ..RunRecording::default() };
        recording.end.data = json!({"rows": [{"pin": 1}], "sum": 2});
        let paths = ["data.rows.pin", "data.none", "input.body.pin", "answer.pin"].map(DropPath::parse);
        drop_paths(&mut recording, &paths.map(Result::unwrap), &[]);
        assert_eq!(recording.dropped, [vec!["data", "rows", "pin"], vec!["input", "body", "pin"]]);
        assert!(!recording.lacks_sources(), "a run over it makes them again");
        assert_eq!(recording.end.data, json!({"rows": [{}], "sum": 2}));
    }

    #[test]
    fn credential_is_masked_in_the_rest() {
        let reads = MetadataReads::collect([&json!({"var": "metadata.headers.x-auth-token"})]);
        let metadata = map(json!({"headers": {"x-auth-token": "tok-12345678"}}));
        let mut masked = Vec::new();
        let mut recording =
            RunRecording { metadata: reads.select(&metadata, &mut masked), ..RunRecording::default() };
        recording.end.data = json!({"sent": "token tok-12345678"});
        drop_paths(&mut recording, &[], &masked);
        assert_eq!(Value::Object(recording.metadata), json!({"headers": {"x-auth-token": MASK}}));
        assert_eq!(recording.end.data, json!({"sent": format!("token {MASK}")}));
    }

    #[test]
    fn path_without_a_root_is_refused() {
        for text in ["", "payload", "card.number", "payload..x", "payload.a[", "payload.a[x]"] {
            assert!(DropPath::parse(text).is_err(), "{text}");
        }
    }
}
