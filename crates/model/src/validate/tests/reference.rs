//! Tests that the reference of the documents agrees with their readers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Marked;
use super::connector::Lenient;
use crate::config::CronTransport;
use crate::config::connector::CONNECTORS;
use crate::config::reference::KeyReference;
use crate::documents::{
    CHANNEL, CONCURRENCY, CONNECTOR, CRON, FOR_EACH, FUNCTION, GROUP, LOOP, RETRY, TASK, WORKFLOW,
};
use crate::{
    ChannelType, ConnectorType, FieldError, Protocol, parse_new_channel, parse_new_connector,
    parse_new_workflow,
};

/// A key that resembles none.
const UNKNOWN: &str = "zzzzzzzzzzzz";

/// Returns the keys that the refusal of an unknown key lists.
fn known_keys(errors: Vec<FieldError>) -> BTreeSet<String> {
    let error = errors.into_iter().find(|error| error.path.ends_with(UNKNOWN)).expect("it is refused");
    let (_, known) = error.message.split_once("known: ").expect("it lists what is known");
    known.split(", ").map(str::to_owned).collect()
}

fn listed_keys(keys: &[KeyReference]) -> BTreeSet<String> {
    keys.iter().map(|key| key.name.to_owned()).collect()
}

#[test]
fn document_readers_know_exactly_the_listed_keys() {
    let body = json!({UNKNOWN: 1});
    assert_eq!(known_keys(parse_new_channel(&body, &Marked).unwrap_err()), listed_keys(&CHANNEL));
    assert_eq!(known_keys(parse_new_workflow(&body, &Marked).unwrap_err()), listed_keys(&WORKFLOW));
    assert_eq!(known_keys(parse_new_connector(&body, &Lenient).unwrap_err()), listed_keys(&CONNECTOR));
    assert_eq!(known_keys(CronTransport::parse(&body).unwrap_err()), listed_keys(CRON));
    let body = json!({"schedule": "0 0 0 * * ?", "concurrency": {UNKNOWN: 1}});
    assert_eq!(known_keys(CronTransport::parse(&body).unwrap_err()), listed_keys(CONCURRENCY));
}

#[test]
fn words_of_the_reference_are_those_of_the_readers() {
    let words = |keys: &[KeyReference], name: &str| {
        let kind = keys.iter().find(|key| key.name == name).unwrap().kind;
        kind.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(words(&CHANNEL, "protocol"), Protocol::NAMES);
    assert_eq!(words(&CHANNEL, "channel_type"), ChannelType::NAMES);
    assert_eq!(words(&CHANNEL, "methods"), crate::route::METHODS);
    assert_eq!(words(&CONNECTOR, "connector_type"), ConnectorType::ALL.map(|kind| kind.name()));
    assert_eq!(CONNECTORS.map(|reference| reference.kind), ConnectorType::ALL);
}

#[test]
fn defaults_and_examples_are_json() {
    let tables: [&[KeyReference]; 11] = [
        &CHANNEL,
        CRON,
        CONCURRENCY,
        &WORKFLOW,
        &TASK,
        &GROUP,
        &FUNCTION,
        &LOOP,
        &CONNECTOR,
        &FOR_EACH,
        &RETRY,
    ];
    for key in tables.into_iter().flatten() {
        for text in [key.default, key.example].into_iter().filter(|text| !text.is_empty()) {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{}: {text}", key.name);
        }
    }
}
