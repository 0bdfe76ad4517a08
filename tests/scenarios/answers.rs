//! Answers of channels over HTTP: cookies, headers of several values, the age of cached answers, problem details,
//! cross-origin rules, what is left of a rate, namespaces of cached answers.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{channel, echo, echo_workflow, error, launch, serve_with, start};

/// Tasks that answer as the payload says.
fn shaping() -> Value {
    json!([{"id": "shape", "name": "Shape", "function": {"name": "map", "input": {"mappings": [
        {"path": "data._svc.response", "logic": {"var": "payload.answer"}}]}}}])
}

fn values<'a>(answer: &'a HttpResponse, name: &str) -> Vec<&'a str> {
    answer.headers.iter().filter(|(header, _)| header == name).map(|(_, value)| value.as_str()).collect()
}

#[test]
fn shaped_answer_sets_several_cookies_and_header_lines() {
    let server = start();
    let mut client = server.client();
    let config = |cookies: bool| json!({"response": {"mode": "shaped", "cookies": cookies}});
    serve_with(&mut client, "visit", config(true), shaping());
    serve_with(&mut client, "plain", config(false), shaping());
    let answer = json!({"answer": {
        "headers": {"link": ["</a>; rel=next", "</b>; rel=prev"]},
        "cookies": [
            {"name": "session", "value": "s1", "path": "/", "max_age": 60, "http_only": true, "secure": true},
            {"name": "login", "value": "", "max_age": 0},
            {"name": "bad name", "value": "x"},
        ],
    }});
    let visit = client.json("POST", "/api/v1/data/visit", &answer).unwrap();
    assert_eq!(visit.status, 200, "{}", visit.text());
    let cookies = ["session=s1; Path=/; Max-Age=60; HttpOnly; Secure", "login=; Max-Age=0"];
    assert_eq!(values(&visit, "set-cookie"), cookies);
    assert_eq!(values(&visit, "link"), ["</a>; rel=next", "</b>; rel=prev"]);
    let plain = client.json("POST", "/api/v1/data/plain", &answer).unwrap();
    assert_eq!((plain.status, values(&plain, "set-cookie")), (200, Vec::new()));
}

#[test]
fn shared_caches_keep_no_answer_under_a_credential() {
    let server = start();
    let mut client = server.client();
    let dated = json!({"workflow_id": "dated", "name": "dated", "tasks": [{"id": "shape", "name": "Shape",
        "function": {"name": "map", "input": {"mappings": [{"path": "data._svc.response", "logic": {
            "status": 200, "headers": {"cache-control": "max-age=60", "content-language": "en"}}}]}}}]});
    for workflow in [dated, echo_workflow("plain")] {
        create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    }
    let auth = json!({"mode": "api_key", "keys": ["first-key"], "header": "x-own-key"});
    for (id, workflow, config) in [
        ("open", "plain", json!({})),
        ("own", "plain", json!({"auth": auth})),
        ("own-dated", "dated", json!({"auth": auth, "response": {"mode": "shaped"}})),
    ] {
        let mut served = channel(id, workflow, config);
        served["methods"] = json!(["GET", "POST"]);
        create_and_activate(&mut client, "channels", "channel_id", &served).unwrap();
    }
    let mut ask = |method: &str, id: &str| {
        let headers = [("x-own-key", "first-key"), ("content-type", "application/json")];
        let answer = client.send(method, &format!("/api/v1/data/{id}"), &headers, b"").unwrap();
        assert_eq!(answer.status, 200, "{id}: {}", answer.text());
        answer.header("cache-control").map(str::to_owned)
    };
    assert_eq!(ask("GET", "open"), None);
    assert_eq!(ask("GET", "own").as_deref(), Some("private"));
    assert_eq!(ask("GET", "own-dated").as_deref(), Some("max-age=60"), "the workflow decides");
    assert_eq!(ask("POST", "own"), None, "no cache keeps it by itself");
    assert_eq!(client.get("/health").unwrap().header("cache-control"), Some("no-store"));
}

#[test]
fn cached_answer_is_a_hit_with_its_age() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "kept", json!({"cache": {"enabled": true}}));
    echo(&mut client, "fresh", json!({}));
    let mut ask =
        |name: &str| client.json("POST", &format!("/api/v1/data/{name}"), &json!({"n": 1})).unwrap();
    let (first, again, fresh) = (ask("kept"), ask("kept"), ask("fresh"));
    assert_eq!((values(&first, "x-cache"), values(&first, "age")), (vec!["miss"], Vec::new()));
    assert_eq!((values(&again, "x-cache"), again.text()), (vec!["hit"], first.text()));
    let age: u64 = again.header("age").unwrap().parse().unwrap();
    assert!(age < 60, "{age}");
    assert_eq!(values(&fresh, "x-cache"), Vec::<&str>::new());
}

#[test]
fn caller_that_accepts_problems_gets_problem_details() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"validation_logic": {">": [{"var": "data.qty"}, 0]}}));
    echo(&mut client, "keyed", json!({"auth": {"mode": "api_key", "keys": ["the-key-of-a-caller"]}}));
    let own = json!({"error_bodies": {"default": {"body": "own", "content_type": "text/plain"}}});
    echo(&mut client, "own", json!({"response": own, "validation_logic": {">": [{"var": "data.qty"}, 0]}}));
    let accept = ("accept", "application/problem+json, application/json");
    let headers = [("content-type", "application/json"), accept, ("x-request-id", "r-1")];
    for (path, status, code, title) in [
        ("/api/v1/data/orders", 400, "VALIDATION_ERROR", "Bad Request"),
        ("/api/v1/data/keyed", 401, "UNAUTHORIZED", "Unauthorized"),
        ("/api/v1/data/absent", 404, "NOT_FOUND", "Not Found"),
    ] {
        let answer = client.send("POST", path, &headers, b"{\"qty\": 0}").unwrap();
        let problem = answer.json();
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("application/problem+json"))
        );
        assert_eq!(
            (&problem["status"], &problem["code"], &problem["title"], &problem["request_id"]),
            (&json!(status), &json!(code), &json!(title), &json!("r-1")),
        );
        assert!(problem["detail"].is_string() && problem.get("error").is_none(), "{problem}");
    }
    let own = client.send("POST", "/api/v1/data/own", &headers, b"{}").unwrap();
    assert_eq!((own.status, own.text().as_str()), (400, "own"));
    let plain = client.json("POST", "/api/v1/data/orders", &json!({})).unwrap();
    error(&plain, 400, "VALIDATION_ERROR");
    let admin = client.send("GET", "/api/v1/admin/workflows/absent", &[accept], b"").unwrap();
    error(&admin, 404, "NOT_FOUND");
}

#[test]
fn channel_lists_the_origins_that_read_its_answers() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "open", json!({}));
    let mut shop = channel("shop", "open", json!({"request": {"cors_origins": ["https://shop.example"]}}));
    shop["route_pattern"] = json!("/shop/{id}");
    create_and_activate(&mut client, "channels", "channel_id", &shop).unwrap();
    echo(&mut client, "any", json!({"request": {"cors_origins": ["*"]}}));
    echo(&mut client, "none", json!({"request": {"cors_origins": []}}));
    let mut granted = |method: &str, path: &str, origin: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("origin", origin),
            ("access-control-request-method", "POST"),
        ];
        let (path, body) = (format!("/api/v1/data/{path}"), if method == "POST" { &b"{}"[..] } else { b"" });
        let answer = client.send(method, &path, &headers, body).unwrap();
        let varies = values(&answer, "vary").contains(&"origin");
        (answer.header("access-control-allow-origin").map(str::to_owned), varies)
    };
    let own = "https://shop.example";
    for path in ["shop", "shop/7", "shop/async", "shop/7/async"] {
        for method in ["OPTIONS", "POST"] {
            assert_eq!(granted(method, path, own), (Some(own.to_owned()), true), "{method} {path}");
            assert_eq!(granted(method, path, "https://other.example"), (None, true), "{method} {path}");
        }
    }
    let poll = "shop/async/00000000-0000-0000-0000-000000000007";
    assert_eq!(granted("GET", poll, own), (Some(own.to_owned()), true));
    assert_eq!(granted("POST", "open", own), (Some("*".to_owned()), false));
    assert_eq!(granted("POST", "any", own), (Some("*".to_owned()), true));
    assert_eq!(granted("OPTIONS", "none", own), (None, true));
}

#[test]
fn answers_report_what_the_rates_leave() {
    let server = start();
    let mut client = server.client();
    let config = |reports: bool| {
        json!({
            "rate_limit": {"requests_per_second": 1, "burst": 3600},
            "auth": {"mode": "api_key", "keys": ["the-key-of-a-caller"]},
            "validation_logic": {"!=": [{"var": "data.n"}, 0]},
            "response": {"rate_limit_headers": reports},
        })
    };
    echo(&mut client, "metered", config(true));
    echo(&mut client, "plain", config(false));
    let mut ask = |name: &str, key: &str, body: &[u8]| {
        let headers = [("content-type", "application/json"), ("authorization", key)];
        client.send("POST", &format!("/api/v1/data/{name}"), &headers, body).unwrap()
    };
    let key = "Bearer the-key-of-a-caller";
    for (body, status) in [(&b"{\"n\": 1}"[..], 200), (b"{\"n\": 0}", 400)] {
        let answer = ask("metered", key, body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(values(&answer, "ratelimit-policy"), [r#""rate_limit";q=3600;w=3600"#]);
        let states = values(&answer, "ratelimit");
        assert!(states.len() == 1 && states[0].starts_with(r#""rate_limit";r=35"#), "{states:?}");
    }
    for answer in [ask("metered", "Bearer other", b"{}"), ask("plain", key, b"{}")] {
        assert!(values(&answer, "ratelimit").is_empty() && values(&answer, "ratelimit-policy").is_empty());
    }
}

#[test]
fn trial_with_stubs_leaves_cached_answers() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "offers", json!({"cache": {"enabled": true, "namespaces": ["offers"]}}));
    let ask = |client: &mut HttpClient| {
        let answer = client.json("POST", "/api/v1/data/offers", &json!({})).unwrap();
        answer.header("x-cache").unwrap().to_owned()
    };
    assert_eq!(ask(&mut client), "miss");
    let tasks = json!([{"id": "forget", "name": "Forget", "function": {"name": "cache_invalidate", "input": {
        "namespaces": ["offers"], "output": "data.cache"}}}]);
    let document = json!({"workflow_id": "forget", "name": "Forget", "tasks": tasks});
    let trial = json!({"data": {}, "stubs": {}, "workflow": document});
    let answer = client.json("POST", "/api/v1/admin/workflows/forget/test", &trial).unwrap();
    let shown = answer.json()["data"].clone();
    assert_eq!(shown["live"], false, "{shown}");
    assert_eq!(shown["output"]["cache"], json!({"namespaces": 1, "stores": 0}), "{shown}");
    assert_eq!(ask(&mut client), "hit");
}

#[test]
fn invalidated_namespace_leaves_no_cached_answer() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "offers", json!({"cache": {"enabled": true, "namespaces": ["catalogue", "offers"]}}));
    echo(&mut client, "others", json!({"cache": {"enabled": true, "namespaces": ["others"]}}));
    let tasks = json!([{"id": "forget", "name": "Forget", "function": {"name": "cache_invalidate", "input": {
        "namespaces": [{"var": "payload.name"}], "output": "data.cache"}}}]);
    serve_with(&mut client, "forget", json!({}), tasks);
    let ask = |client: &mut HttpClient, name: &str| {
        let answer = client.json("POST", &format!("/api/v1/data/{name}"), &json!({})).unwrap();
        answer.header("x-cache").unwrap().to_owned()
    };
    for name in ["offers", "others"] {
        assert_eq!([ask(&mut client, name), ask(&mut client, name)], ["miss", "hit"], "{name}");
    }
    let forget = client.json("POST", "/api/v1/data/forget", &json!({"name": "catalogue"})).unwrap();
    assert_eq!(forget.json()["data"]["cache"], json!({"namespaces": 1, "stores": 1}), "{}", forget.text());
    assert_eq!([ask(&mut client, "offers"), ask(&mut client, "offers")], ["miss", "hit"]);
    let path = "/api/v1/admin/cache/invalidate";
    let answer = client.json("POST", path, &json!({"namespaces": ["offers", "absent"]})).unwrap();
    assert_eq!(answer.json()["data"], json!({"namespaces": ["offers", "absent"], "stores": 1}));
    assert_eq!([ask(&mut client, "offers"), ask(&mut client, "others")], ["miss", "hit"]);
    let refusal = client.json("POST", path, &json!({"namespaces": ["offers", "Offers"]})).unwrap();
    error(&refusal, 400, "VALIDATION_ERROR");
    assert_eq!(refusal.json()["error"]["details"][0]["path"], "body.namespaces[1]");
    let rows = client.get("/api/v1/admin/audit-logs?action=invalidate").unwrap().json();
    assert_eq!(
        (&rows["data"][0]["resource_type"], rows["data"].as_array().unwrap().len()),
        (&json!("cache"), 1)
    );
}

#[test]
fn declared_value_is_an_origin_of_a_channel() {
    let server = launch();
    let settings = "[vars]\nshop = \"https://shop.example\"\n";
    std::fs::write(server.directory().join("vars.toml"), settings).unwrap();
    let server = server.args(&["-c", "vars.toml"]).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "shop", json!({"request": {"cors_origins": ["var://shop"]}}));
    let mut granted = |origin: &str| {
        let headers = [("content-type", "application/json"), ("origin", origin)];
        let answer = client.send("POST", "/api/v1/data/shop", &headers, b"{}").unwrap();
        answer.header("access-control-allow-origin").map(str::to_owned)
    };
    assert_eq!(granted("https://shop.example").as_deref(), Some("https://shop.example"));
    assert_eq!((granted("var://shop"), granted("https://other.example")), (None, None));
}
