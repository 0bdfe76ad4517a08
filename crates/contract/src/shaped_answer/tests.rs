use serde_json::json;

use super::*;

fn shaper(allowed: Option<&[&str]>) -> ResponseShaper {
    let allowed_headers = allowed.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    ResponseShaper::new(&ResponseConfig { allowed_headers, ..ResponseConfig::default() })
}

fn shape(control: Value, data: &Value) -> (ShapedAnswer, Vec<DroppedPart>) {
    let mut holder = json!({"_svc": {"response": control}});
    shaper(None).shape(&ResponseControl::take(&mut holder).unwrap(), data)
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn the_control_document_leaves_no_trace() {
    for (data, left, is_document) in [
        (json!({"_svc": {"response": {"status": 201}}, "a": 1}), json!({"a": 1}), true),
        (json!({"_svc": {"response": {}, "own": 2}}), json!({"_svc": {"own": 2}}), true),
        (json!({"_svc": {"response": 1}, "a": 1}), json!({"a": 1}), false),
        (json!({"_svc": {"own": 2}}), json!({"_svc": {"own": 2}}), false),
        (json!({"_svc": {}}), json!({}), false),
        (json!({"_svc": 7}), json!({"_svc": 7}), false),
        (json!({"a": 1}), json!({"a": 1}), false),
        (json!([1]), json!([1]), false),
    ] {
        let mut rest = data.clone();
        assert_eq!(ResponseControl::take(&mut rest).is_some(), is_document, "{data}");
        assert_eq!(rest, left, "{data}");
    }
}

#[test]
fn the_status_is_a_final_one_or_200() {
    for (status, sent, told) in [
        (json!(201), 201, 0),
        (json!(201.0), 201, 0),
        (json!(418), 418, 0),
        (json!(999), 999, 0),
        (Value::Null, 200, 0),
        (json!(99), 200, 1),
        (json!(100), 200, 1),
        (json!(101), 200, 1),
        (json!(199), 200, 1),
        (json!(1_000), 200, 1),
        (json!(-200), 200, 1),
        (json!(200.5), 200, 1),
        (json!(1e300), 200, 1),
        (json!("201"), 200, 1),
        (json!([201]), 200, 1),
    ] {
        let (answer, dropped) = shape(json!({"status": status}), &json!({}));
        assert_eq!((answer.status, dropped.len()), (sent, told), "{status}");
    }
    let (answer, dropped) = shape(json!({}), &json!({"a": 1}));
    assert_eq!((answer.status, answer.body.as_str(), dropped), (200, r#"{"a":1}"#, vec![]));
}

#[test]
fn an_answer_without_a_body_has_none() {
    for status in [204, 205, 304] {
        let control = json!({"status": status, "headers": {"etag": "\"7\""}, "body_path": "a"});
        let (answer, _) = shape(control, &json!({"a": 1}));
        assert_eq!((answer.status, answer.body.len()), (status, 0));
        assert_eq!(answer.headers, headers(&[("etag", "\"7\"")]));
    }
}

#[test]
fn only_allowed_headers_are_set_in_lower_case() {
    let control = json!({"headers": {
        "Location": "/orders/7", "CONTENT-TYPE": " text/plain ", "etag": "", "link": "a\tb",
        "x-own": "1", "X-Request-Id": "1", "content-length": "9", "Set-Cookie": "a=b",
        "retry-after": 3, "cache-control": null,
        "last-modified": "a\r\nx-evil: 1", "content-language": "caf\u{e9}", "": "x"
    }});
    let (answer, dropped) = shape(control, &json!({}));
    let mut set = answer.headers.clone();
    set.sort();
    let expected =
        [("content-type", "text/plain"), ("etag", ""), ("link", "a\tb"), ("location", "/orders/7")];
    assert_eq!(set, headers(&expected));
    let mut names: Vec<_> = dropped
        .iter()
        .map(|dropped| match dropped {
            DroppedPart::Header(name) => name.as_str(),
            DroppedPart::Status | DroppedPart::Cookie(..) => "another part",
        })
        .collect();
    names.sort_unstable();
    let expected = [
        "",
        "Set-Cookie",
        "X-Request-Id",
        "cache-control",
        "content-language",
        "content-length",
        "last-modified",
        "retry-after",
        "x-own",
    ];
    assert_eq!(names, expected);
}

#[test]
fn header_list_replaces_default_and_refuses_forbidden_names() {
    let listed: Vec<&str> = ["X-Own", "set-cookie"].into_iter().chain(NEVER).collect();
    let shaper = shaper(Some(&listed));
    let mut wanted: Map<String, Value> = NEVER.iter().map(|&name| (name.to_owned(), json!("x"))).collect();
    wanted.extend([
        ("x-own".into(), json!("1")),
        ("set-cookie".into(), json!("a=b")),
        ("etag".into(), json!("2")),
    ]);
    let control = ResponseControl(Map::from_iter([("headers".to_owned(), Value::Object(wanted))]));
    let (mut answer, dropped) = shaper.shape(&control, &json!({}));
    answer.headers.sort();
    let expected = [("content-type", "application/json"), ("set-cookie", "a=b"), ("x-own", "1")];
    assert_eq!(answer.headers, headers(&expected));
    assert_eq!(dropped.len(), NEVER.len() + 1);
}

#[test]
fn list_of_values_becomes_one_line_each() {
    let control = json!({"headers": {
        "link": ["</a>; rel=next", " </b>; rel=prev "], "etag": [], "content-type": ["text/plain", "text/html"],
        "location": ["/a", 7], "retry-after": ["3"],
    }});
    let (answer, dropped) = shape(control, &json!({}));
    let expected = [
        ("link", "</a>; rel=next"),
        ("link", "</b>; rel=prev"),
        ("retry-after", "3"),
        ("content-type", "application/json"),
    ];
    assert_eq!(answer.headers, headers(&expected));
    assert_eq!(dropped.len(), 3);
}

#[test]
fn cookies_are_set_if_the_channel_allows_them() {
    let control = || {
        ResponseControl(Map::from_iter([(
            "cookies".to_owned(),
            json!([{"name": "session", "value": "1", "http_only": true}, {"name": "old", "value": "", "max_age": 0},
                {"name": "a b", "value": "secret"}]),
        )]))
    };
    let config = ResponseConfig { cookies: true, ..ResponseConfig::default() };
    let (answer, dropped) = ResponseShaper::new(&config).shape(&control(), &json!({}));
    let cookies: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    let lines: Vec<_> = cookies.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(lines, ["session=1; HttpOnly", "old=; Max-Age=0"]);
    assert!(matches!(dropped.as_slice(), [DroppedPart::Cookie(2, _)]));
    let (answer, dropped) = shaper(None).shape(&control(), &json!({}));
    assert!(answer.headers.iter().all(|(name, _)| name != "set-cookie"));
    assert_eq!(dropped.len(), 3);
}

#[test]
fn of_two_spellings_of_a_header_one_is_sent() {
    let (answer, _) = shape(json!({"headers": {"ETag": "1", "etag": "2"}}), &json!({}));
    assert_eq!(answer.headers, headers(&[("etag", "2"), ("content-type", "application/json")]));
}

#[test]
fn logged_header_is_cut_and_loses_its_value() {
    let (_, dropped) = shape(json!({"headers": {"x".repeat(500): "secret"}}), &json!({}));
    assert_eq!(dropped, [DroppedPart::Header("x".repeat(MAX_LOGGED))]);
}

#[test]
fn the_body_is_what_the_path_selects() {
    let data = json!({"a": {"b": ["text", 2]}, "data.x": 1, "database": 5});
    let whole = data.to_string();
    for (control, body) in [
        (json!({}), whole.as_str()),
        (json!({"body_path": "data"}), whole.as_str()),
        (json!({"body_path": 7}), whole.as_str()),
        (json!({"body_path": "a.b"}), r#"["text",2]"#),
        (json!({"body_path": "data.a.b"}), r#"["text",2]"#),
        (json!({"body_path": "a.b.0"}), r#""text""#),
        (json!({"body_path": "a.b.0", "raw": true}), "text"),
        (json!({"body_path": "a.b.0", "raw": "true"}), r#""text""#),
        (json!({"body_path": "a.b.1", "raw": true}), "2"),
        (json!({"body_path": "database"}), "5"),
        (json!({"body_path": "a.c"}), "null"),
        (json!({"body_path": "data.data.a"}), "null"),
        (json!({"body_path": ""}), "null"),
        (json!({"body_path": "a..b"}), "null"),
        (json!({"raw": true}), whole.as_str()),
    ] {
        let (answer, dropped) = shape(control.clone(), &data);
        assert_eq!(answer.body, body, "{control}");
        assert!(dropped.is_empty(), "{control}");
    }
    let (answer, _) = shape(json!({"raw": true}), &json!("whole text"));
    assert_eq!(answer.body, "whole text");
}

#[test]
fn selected_body_is_that_of_the_answer() {
    let data = json!({"a": {"b": 7}, "c": 1});
    let select = |control: Value| {
        let mut shaped = json!({"a": {"b": 7}, "c": 1, "_svc": {"response": control}});
        ResponseControl::take(&mut shaped).unwrap().select_body(shaped)
    };
    assert_eq!(select(json!({"body_path": "a.b"})), json!(7));
    assert_eq!(select(json!({"body_path": "data.a"})), json!({"b": 7}));
    assert_eq!(select(json!({"body_path": "data", "status": 500})), data);
    assert_eq!(select(json!({})), data);
    assert_eq!(
        (select(json!({"body_path": "x"})), select(json!({"status": 304}))),
        (json!(null), json!(null))
    );
}
