//! Tests of the reading of events.

use serde_json::json;

use super::*;

/// An event with nothing but what every event has, and these members.
fn event(members: Value) -> Value {
    let mut event = json!({"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed"});
    for (name, value) in members.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

fn headers<'h>(pairs: &'h [(&'h str, &'h str)]) -> impl Iterator<Item = (&'h str, &'h [u8])> {
    pairs.iter().map(|(name, value)| (*name, value.as_bytes()))
}

const MINIMAL: [(&str, &str); 4] =
    [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/shop"), ("ce-type", "order.placed")];

#[test]
fn content_type_selects_the_mode() {
    for (content_type, mode) in [
        ("application/cloudevents+json; charset=UTF-8", Some(EventMode::Structured)),
        ("Application/CloudEvents+JSON", Some(EventMode::Structured)),
        ("application/cloudevents-batch+json", Some(EventMode::Batch)),
        ("application/cloudevents+avro", None),
        ("application/cloudevents", None),
        ("application/json", Some(EventMode::Binary)),
        ("", Some(EventMode::Binary)),
    ] {
        assert_eq!(EventMode::select(content_type.as_bytes()).ok(), mode, "{content_type}");
    }
}

#[test]
fn structured_event_has_attributes_and_data() {
    let document = event(json!({"data": {"n": 1}, "subject": "o-7", "time": "2026-01-02T03:04:05.678+01:00",
        "tries": 3, "urgent": true, "dataschema": null}));
    let CloudEvent { facts, data } = read_structured(document).unwrap();
    assert_eq!((data, facts.kind), (json!({"n": 1}), BodyKind::Whole));
    let expected = json!({"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed",
        "subject": "o-7", "time": "2026-01-02T03:04:05.678+01:00", "tries": 3, "urgent": true});
    assert_eq!(Value::Object(facts.attributes), expected);
}

#[test]
fn data_becomes_a_payload_by_its_type() {
    for (members, payload, kind) in [
        (json!({}), json!(null), BodyKind::Whole),
        (json!({"data": null}), json!(null), BodyKind::Whole),
        (json!({"data": "<a/>", "datacontenttype": "text/xml"}), json!("<a/>"), BodyKind::Whole),
        (json!({"data_base64": "eyJuIjoxfQ=="}), json!({"n": 1}), BodyKind::Whole),
        (
            json!({"data_base64": "aGk=", "datacontenttype": "text/plain", "data": null}),
            json!("hi"),
            BodyKind::Whole,
        ),
        (
            json!({"data_base64": "eyJuIjoxfQ==", "datacontenttype": "text/json; charset=utf-8"}),
            json!({"n": 1}),
            BodyKind::Whole,
        ),
        (json!({"data_base64": "//4=", "datacontenttype": "image/png"}), json!("//4="), BodyKind::RawBase64),
        (json!({"data_base64": "//4="}), json!("//4="), BodyKind::RawBase64),
    ] {
        let CloudEvent { facts, data } = read_structured(event(members.clone())).unwrap();
        assert_eq!((data, facts.kind), (payload, kind), "{members}");
    }
}

#[test]
fn malformed_event_is_refused_with_its_attribute() {
    for (members, reason) in [
        (json!({"specversion": null}), "the attribute specversion is missing"),
        (json!({"specversion": "0.3"}), "the attribute specversion is not \"1.0\""),
        (json!({"id": null}), "the attribute id is missing"),
        (json!({"id": ""}), "the attribute id is empty"),
        (json!({"id": 7}), "the attribute id is not a string"),
        (json!({"source": "a b"}), "the attribute source is not a URI reference"),
        (json!({"type": null}), "the attribute type is missing"),
        (json!({"subject": ""}), "the attribute subject is empty"),
        (json!({"time": "yesterday"}), "the attribute time is not a time as RFC 3339 writes it"),
        (json!({"time": "2026-01-02T03:04:05"}), "the attribute time is not a time as RFC 3339 writes it"),
        (json!({"dataschema": "/schema"}), "the attribute dataschema is not a URI with its scheme"),
        (json!({"datacontenttype": "json"}), "the attribute datacontenttype is not a media type"),
        (json!({"traceId": "x"}), "the attribute 'traceId' has a name of other characters"),
        (json!({"my_ext": "x"}), "the attribute 'my_ext' has a name of other characters"),
        (json!({"ext": 1.5}), "the attribute ext is no integer of 32 bits"),
        (json!({"ext": 2_147_483_648_i64}), "the attribute ext is no integer of 32 bits"),
        (json!({"ext": {}}), "the attribute ext is neither a string, an integer nor a boolean"),
        (json!({"ext": "a\nb"}), "the attribute ext has a control character"),
        (json!({"data": 1, "data_base64": "MQ=="}), "it has both data and data_base64"),
        (json!({"data_base64": "%"}), "data_base64 is not base64"),
        (json!({"data_base64": 1}), "data_base64 is not a string"),
        (json!({"data_base64": "ew==", "datacontenttype": "application/json"}), "the data is not JSON: EOF"),
    ] {
        let refused = read_structured(event(members.clone())).unwrap_err();
        assert!(refused.starts_with(reason), "{members}: {refused}");
    }
    assert_eq!(read_structured(json!([])).unwrap_err(), "an event is an object");
    let many: Map<String, Value> = (0..100).map(|n| (format!("e{n}"), json!(n))).collect();
    assert!(read_structured(event(many.into())).unwrap_err().contains("at most 100 attributes"));
}

#[test]
fn batch_is_read_whole_or_refused_by_number() {
    let batch = json!([event(json!({"data": 1})), event(json!({"id": "2", "data": 2}))]);
    let events = read_batch(batch).unwrap();
    assert_eq!(events.iter().map(|event| event.data.clone()).collect::<Vec<_>>(), [json!(1), json!(2)]);
    assert_eq!(read_batch(json!([])), Ok(Vec::new()));
    let refused = read_batch(json!([event(json!({})), event(json!({"id": null}))])).unwrap_err();
    assert_eq!(refused, "event 2: the attribute id is missing");
    assert_eq!(read_batch(event(json!({}))).unwrap_err(), "a batch is an array of events");
    let full = vec![event(json!({})); MAX_EVENTS + 1];
    assert_eq!(read_batch(full.into()).unwrap_err(), "a batch has at most 1000 events");
}

#[test]
fn binary_request_has_attributes_in_headers() {
    let mut sent = MINIMAL.to_vec();
    sent.extend([("ce-subject", "%C3%A4%20%22b%22"), ("ce-tries", "3"), ("accept", "*/*")]);
    let CloudEvent { facts, data } = read_request(headers(&sent), b"application/json", b"{\"n\":1}").unwrap();
    assert_eq!((data, facts.kind), (json!({"n": 1}), BodyKind::Whole));
    let expected = json!({"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed",
        "subject": "ä \"b\"", "tries": "3", "datacontenttype": "application/json"});
    assert_eq!(Value::Object(facts.attributes), expected);
    let bare = read_request(headers(&MINIMAL), b"", b"").unwrap();
    assert_eq!((bare.data, bare.facts.attributes.len()), (Value::Null, 4));
}

#[test]
fn binary_request_without_its_attributes_is_refused() {
    let refuse = |more: &[(&str, &str)], body: &[u8]| {
        let sent: Vec<_> = MINIMAL.iter().chain(more).copied().collect();
        read_request(headers(&sent), b"application/json", body).unwrap_err()
    };
    let missing = read_request(headers(&[]), b"application/json", b"{}").unwrap_err();
    assert_eq!(missing, "the header ce-specversion is missing, and the content type is of no event");
    assert_eq!(refuse(&[("ce-id", "2")], b"{}"), "the header ce-id is there twice");
    assert!(
        refuse(&[("ce-datacontenttype", "text/plain")], b"{}").contains("the header content-type has it")
    );
    assert!(refuse(&[("ce-data", "1")], b"{}").contains("the body is the data"));
    assert!(refuse(&[("ce-my-ext", "1")], b"{}").contains("'my-ext'"));
    assert_eq!(refuse(&[("ce-subject", "%FF")], b"{}"), "the header ce-subject is not UTF-8");
    assert!(refuse(&[("ce-subject", "%0A")], b"{}").contains("control character"));
    assert!(refuse(&[], b"{").starts_with("the data is not JSON"));
}

#[test]
fn header_values_are_unquoted_and_decoded_once() {
    for (value, expected) in [
        ("plain", "plain"),
        ("%e2%82%ac%2520", "€%20"),
        ("\"a \\\"b\\\" %41\"", "a \"b\" A"),
        ("50% off, 5%", "50% off, 5%"),
        ("\"open", "\"open"),
    ] {
        assert_eq!(decode_header(value.as_bytes()).as_deref(), Some(expected), "{value}");
    }
    assert_eq!(decode_header(b"%C3"), None);
}

#[test]
fn record_is_structured_by_content_type_else_binary() {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, Vec<u8>)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    };
    let structured = owned(&[("content-type", "application/cloudevents+json; charset=UTF-8")]);
    let read = read_record(&structured, event(json!({"data": [1]})).to_string().as_bytes()).unwrap();
    assert_eq!((read.data, &read.facts.attributes["id"]), (json!([1]), &json!("1")));
    let mut binary =
        owned(&[("ce_specversion", "1.0"), ("ce_id", "1"), ("ce_source", "/shop"), ("ce_type", "t")]);
    binary.extend(owned(&[("ce_subject", "50%25"), ("content-type", "text/plain")]));
    let read = read_record(&binary, b"good day").unwrap();
    assert_eq!((read.data, &read.facts.attributes["subject"]), (json!("good day"), &json!("50%25")));
    assert_eq!(read.facts.attributes["datacontenttype"], "text/plain");
    for (headers, value, reason) in [
        (owned(&[]), "{}", "the header ce_specversion is missing"),
        (owned(&[("content-type", "application/cloudevents-batch+json")]), "[]", "a record has one event"),
        (
            owned(&[("content-type", "application/cloudevents+avro")]),
            "",
            "of the formats of structured events",
        ),
        (structured, "{", "the value is not JSON"),
    ] {
        let refused = read_record(&headers, value.as_bytes()).unwrap_err();
        assert!(refused.starts_with(reason), "{refused}");
    }
}
