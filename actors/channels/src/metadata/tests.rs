use serde_json::{Map, Value, json};

use super::{MetadataStamps, split_body, stamp};
use crate::request::{DataRequest, Ingress};

fn http(headers: &[(&str, &str)]) -> DataRequest {
    let mut request = DataRequest::embedded(Value::Null);
    request.ingress = Ingress::Http;
    request.method = "POST".into();
    request.headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    request
}

fn stamps<'d>(vars: Option<&'d Value>, cookies: &'d [String]) -> MetadataStamps<'d> {
    MetadataStamps { channel: "orders", vars, cookies, ..MetadataStamps::default() }
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("not an object") };
    map
}

#[test]
fn top_level_data_or_metadata_makes_an_envelope() {
    let cases = [
        (None, true, json!({}), json!({})),
        (Some(json!({"a": 1})), true, json!({"a": 1}), json!({})),
        (Some(json!([1, 2])), true, json!([1, 2]), json!({})),
        (Some(json!({"data": {"a": 1}, "junk": true})), true, json!({"a": 1}), json!({})),
        (Some(json!({"metadata": {"m": 1}, "a": 1})), true, json!({}), json!({"m": 1})),
        (Some(json!({"data": [1], "metadata": 7})), true, json!([1]), json!({})),
        (Some(json!({"data": null})), true, json!(null), json!({})),
        (
            Some(json!({"data": {"a": 1}, "metadata": {}})),
            false,
            json!({"data": {"a": 1}, "metadata": {}}),
            json!({}),
        ),
        (None, false, json!({}), json!({})),
    ];
    for (body, envelope, payload, metadata) in cases {
        assert_eq!(split_body(body.clone(), envelope), (payload, map(metadata)), "{body:?}");
    }
}

#[test]
fn a_caller_cannot_supply_what_the_service_stamps() {
    let caller = json!({
        "channel": "x", "http_method": "x", "headers": "x", "vars": "x", "cookies": "x", "auth": "x",
        "trigger": "x", "progress": "x", "_svc_errors": "x", "_svc": "x", "cloudevent": "x", "mine": 1,
        "kafka": {"tombstone": true}, "kafka_topic": "x", "kafka_partition": 0, "kafka_offset": 0,
        "kafka_key": "x", "kafka_encoding": "x",
        "params": {"kept": 1}, "query": {"kept": 2},
    });
    let stamped = stamp(map(caller), &mut http(&[]), stamps(None, &[]));
    let expected = json!({
        "channel": "orders", "http_method": "POST", "headers": {}, "mine": 1, "params": {"kept": 1}, "query": {"kept": 2},
    });
    assert_eq!(Value::Object(stamped), expected);
}

#[test]
fn params_query_and_vars_of_the_request_win() {
    let mut request = http(&[]);
    request.params = map(json!({"id": "7"}));
    request.query = map(json!({"q": "a"}));
    let caller = map(json!({"params": 1, "query": 2, "vars": 3}));
    let stamped = stamp(caller, &mut request, stamps(Some(&json!({"region": "eu"})), &[]));
    assert_eq!(
        Value::Object(stamped),
        json!({
            "channel": "orders", "http_method": "POST", "headers": {}, "params": {"id": "7"}, "query": {"q": "a"},
            "vars": {"region": "eu"},
        })
    );
}

#[test]
fn credentials_are_masked_and_values_outside_ascii_dropped() {
    let mut request = http(&[
        ("authorization", "Bearer s3cret"),
        ("cookie", "session=s3cret"),
        ("x-api-key", "s3cret"),
        ("proxy-authorization", "s3cret"),
        ("accept", "text/html"),
        ("accept", "application/json"),
    ]);
    request.headers.push(("x-name".into(), "Zoë".into()));
    let stamped = stamp(Map::new(), &mut request, stamps(None, &[]));
    assert_eq!(
        stamped["headers"],
        json!({
            "authorization": "******", "cookie": "******", "x-api-key": "******", "proxy-authorization": "******",
            "accept": "text/html, application/json",
        })
    );
}

#[test]
fn only_allowed_cookies_that_are_present_are_passed_on() {
    let long = "x".repeat(4097);
    let line = format!("a=1; b=\"two\"; c=; d={long}; a=again; e=x=y; secret=no");
    let allowed: Vec<String> = ["a", "b", "c", "d", "e", "absent"].map(String::from).into();
    let stamped = stamp(Map::new(), &mut http(&[("cookie", &line)]), stamps(None, &allowed));
    assert_eq!(stamped["cookies"], json!({"a": "1", "b": "two", "e": "x=y"}));
    let stamped = stamp(Map::new(), &mut http(&[("cookie", "other=1")]), stamps(None, &allowed));
    assert!(!stamped.contains_key("cookies"));
}

#[test]
fn an_embedded_call_has_no_http_facts() {
    let stamped = stamp(Map::new(), &mut DataRequest::embedded(json!(1)), stamps(None, &["a".into()]));
    assert_eq!(Value::Object(stamped), json!({"channel": "orders"}));
}

#[test]
fn verified_claims_replace_those_of_the_caller() {
    let claims = Some(map(json!({"sub": "u-1"})));
    let caller = map(json!({"auth": {"claims": {"sub": "root"}}}));
    let stamped = stamp(caller, &mut http(&[]), MetadataStamps { claims, ..stamps(None, &[]) });
    assert_eq!(stamped["auth"], json!({"claims": {"sub": "u-1"}}));
}

#[test]
fn the_header_of_the_channels_own_credential_is_masked() {
    let mut request = http(&[("x-partner-key", "k"), ("x-other", "shown")]);
    let stamped = stamp(
        Map::new(),
        &mut request,
        MetadataStamps { credential: Some("x-partner-key"), ..stamps(None, &[]) },
    );
    assert_eq!(stamped["headers"], json!({"x-partner-key": "******", "x-other": "shown"}));
}
