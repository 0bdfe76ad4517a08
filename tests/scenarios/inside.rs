//! Whatever a definition names, and however: nothing inside the network is reached but what it may reach.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::spellings::{corpus, urls};
use svc_testkit::tls::{Behaviour, HttpsServer};
use svc_testkit::trap::Trap;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{channel, echo, eventually, launch, serve};

const ADMIN: &str = "/api/v1/admin";
const CODES: [u16; 5] = [301, 302, 303, 307, 308];
/// Items of one import at most.
const BATCH: usize = 1000;

fn http(id: &str, config: Value) -> Value {
    json!({"id": id, "name": id, "connector_type": "http", "config": config})
}

/// Tokens from an endpoint.
fn oauth(token_url: &str) -> Value {
    json!({"type": "oauth2", "grant": "client_credentials", "token_url": token_url, "client_id": "id",
        "client_secret": "s"})
}

fn create(client: &mut HttpClient, connector: &Value) {
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Returns the result of a connector test.
fn test_connector(client: &mut HttpClient, id: &str) -> Value {
    client.json("POST", &format!("{ADMIN}/connectors/{id}/test"), &json!({})).unwrap().json()["data"].clone()
}

/// A workflow, behind a channel of the same id, that asks a connector once.
fn asking(client: &mut HttpClient, connector: &str) {
    let input = json!({"connector": connector, "timeout_ms": 200, "output": "data.api"});
    serve(
        client,
        connector,
        json!([{"id": "t", "name": "T", "function": {"name": "http_call", "input": input}}]),
    );
}

/// Imports a list and answers how many of it were taken, with the texts of the refusals.
fn import(client: &mut HttpClient, kind: &str, items: &[Value]) -> (u64, Vec<String>) {
    let (mut taken, mut refusals) = (0, Vec::new());
    for batch in items.chunks(BATCH) {
        let report = client.json("POST", &format!("{ADMIN}/{kind}/import"), &json!(batch)).unwrap();
        assert_eq!(report.status, 200, "{}", report.text());
        let report = report.json()["data"].clone();
        taken += report["imported"].as_u64().unwrap();
        let errors = report["errors"].as_array().unwrap().iter();
        refusals.extend(errors.map(|error| error["error"].as_str().unwrap().to_owned()));
    }
    (taken, refusals)
}

#[test]
fn no_connector_is_stored_with_inner_address() {
    let (server, trap) = (launch().start().unwrap(), Trap::bind().unwrap());
    let port = trap.port();
    let of_type = |kind: &str, config: Value| json!({"name": "x", "connector_type": kind, "config": config});
    let mut items = Vec::new();
    for host in corpus() {
        let url = format!("http://{host}:{port}/");
        items.extend([
            of_type("http", json!({"url": url})),
            of_type("http", json!({"url": "https://api.example", "auth": oauth(&url)})),
            of_type("es", json!({"url": url})),
            of_type("db", json!({"connection_string": format!("postgres://u:p@{host}:{port}/d")})),
            of_type("db", json!({"connection_string": format!("mongodb://1.1.1.1,{host}:{port}/d")})),
            of_type("cache", json!({"backend": "redis", "url": format!("redis://{host}:{port}/0")})),
            of_type("kafka", json!({"brokers": ["a.example", format!("{host}:{port}")], "topic": "t"})),
            of_type("smtp", json!({"host": host, "port": port, "from": "a@b.example"})),
            of_type(
                "storage",
                json!({"endpoint": url, "region": "r", "bucket": "b", "access_key": "a", "secret_key": "s"}),
            ),
        ]);
    }
    items.extend(urls(port).into_iter().map(|url| of_type("http", json!({"url": url}))));
    let (taken, refusals) = import(&mut server.client(), "connectors", &items);
    assert_eq!(taken, 0);
    assert_eq!(refusals.len(), items.len());
    let protected = refusals.iter().filter(|refusal| refusal.contains("SSRF protection:")).count();
    assert!(protected >= 9 * 300, "{protected}");
    assert_eq!(trap.take_connection_count(), 0);
}

#[test]
fn variable_with_inner_address_is_not_used() {
    let trap = Trap::bind().unwrap();
    // What a variable of the environment can hold.
    let hosts: Vec<_> = corpus().into_iter().filter(|host| !host.contains('\0')).collect();
    assert!(hosts.len() >= 300);
    let mut launch = launch();
    for (index, host) in hosts.iter().enumerate() {
        launch = launch.env(&format!("HOST_{index}"), host);
    }
    let server = launch.start().unwrap();
    let mut client = server.client().keep_alive();
    let url = |index: usize| format!("http://${{HOST_{index}}}:{}/", trap.port());
    let api = |index: usize| http(&format!("c{index}"), json!({"url": url(index)}));
    let issuer = |index: usize| {
        let config = json!({"url": "https://api.example", "auth": oauth(&url(index))});
        http(&format!("t{index}"), config)
    };
    let items: Vec<_> = (0..hosts.len()).flat_map(|index| [api(index), issuer(index)]).collect();
    assert_eq!(import(&mut client, "connectors", &items).0, items.len() as u64);
    for (index, host) in hosts.iter().enumerate() {
        for kind in ["c", "t"] {
            let report = test_connector(&mut client, &format!("{kind}{index}"));
            assert_eq!(
                (&report["reachable"], &report["probe"]),
                (&json!(false), &json!("config parse")),
                "{host}: {report}"
            );
        }
    }
    for id in ["c0", "c100", "c200", "c300", "t0", "t100", "t200", "t300"] {
        asking(&mut client, id);
        assert_eq!(client.json("POST", &format!("/api/v1/data/{id}"), &json!({})).unwrap().status, 500);
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[test]
fn host_resolving_to_private_address_needs_permission() {
    let (server, trap) = (launch().start().unwrap(), Trap::bind().unwrap());
    let mut client = server.client();
    let url = format!("http://localhost:{}/", trap.port());
    create(&mut client, &http("guarded", json!({"url": url, "retry": {"max_retries": 0}})));
    create(
        &mut client,
        &http("free", json!({"url": url, "retry": {"max_retries": 0}, "allow_private_urls": true})),
    );
    for id in ["guarded", "free"] {
        asking(&mut client, id);
    }
    let report = test_connector(&mut client, "guarded");
    assert!(report["error"].as_str().unwrap().starts_with("SSRF protection:"), "{report}");
    assert_eq!(client.json("POST", "/api/v1/data/guarded", &json!({})).unwrap().status, 500);
    assert_eq!(trap.take_connection_count(), 0);
    // The trap works: it would have been reached if nobody had looked.
    assert_eq!(client.json("POST", "/api/v1/data/free", &json!({})).unwrap().status, 500);
    assert!(trap.take_connection_count() > 0);
}

#[test]
fn no_redirect_of_a_peer_leads_inside() {
    let trap = Trap::bind().unwrap();
    let redirect = Arc::new(Mutex::new((302, String::new())));
    let telling = Arc::clone(&redirect);
    let home = Upstream::start(move |asked| match asked.target.as_str() {
        "/here" => UpstreamReply::new(200, "{}"),
        _ => {
            let (code, location) = telling.lock().clone();
            UpstreamReply::redirect(code, &location)
        }
    })
    .unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client().keep_alive();
    create(&mut client, &http("home", json!({"url": home.url("/"), "allow_private_urls": true})));
    asking(&mut client, "home");
    let port = trap.port();
    let inner = ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:7f00:1]"];
    let mut locations: Vec<_> = inner.iter().map(|host| format!("http://{host}:{port}/")).collect();
    locations.extend([format!("//127.0.0.1:{port}/"), format!("http://1.1.1.1@127.0.0.1:{port}/")]);
    for location in &locations {
        for code in CODES {
            *redirect.lock() = (code, location.clone());
            let said = test_connector(&mut client, "home");
            assert!(
                said["error"].as_str().unwrap().starts_with("SSRF protection:"),
                "{code} {location}: {said}"
            );
            let called = client.json("POST", "/api/v1/data/home", &json!({})).unwrap();
            assert_eq!(called.status, 500, "{code} {location}");
        }
    }
    assert_eq!(trap.take_connection_count(), 0);
    *redirect.lock() = (307, "/here".to_owned());
    assert_eq!(test_connector(&mut client, "home")["reachable"], true, "a redirect as such is followed");
    assert_eq!(client.json("POST", "/api/v1/data/home", &json!({})).unwrap().status, 200);
}

#[test]
fn no_token_is_fetched_from_inner_issuer() {
    let trap = Trap::bind().unwrap();
    let redirect = Arc::new(Mutex::new((302, String::new())));
    let telling = Arc::clone(&redirect);
    let issuer = Upstream::start(move |_| {
        let (code, location) = telling.lock().clone();
        UpstreamReply::redirect(code, &location)
    })
    .unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client().keep_alive();
    let trapped = format!("http://localhost:{}/", trap.port());
    create(&mut client, &http("guarded", json!({"url": "https://api.example", "auth": oauth(&trapped)})));
    let said = test_connector(&mut client, "guarded");
    assert!(said["error"].as_str().unwrap().contains("SSRF protection:"), "{said}");
    asking(&mut client, "guarded");
    assert_eq!(client.json("POST", "/api/v1/data/guarded", &json!({})).unwrap().status, 500);
    let config = |n: usize| json!({"url": issuer.url("/api"), "auth": oauth(&issuer.url(&format!("/{n}"))), "allow_private_urls": true});
    create(&mut client, &http("redirected", config(0)));
    asking(&mut client, "redirected");
    for (n, code) in CODES.into_iter().enumerate() {
        *redirect.lock() = (code, format!("http://127.0.0.1:{}/", trap.port()));
        // Another block: what the last one was refused for is not remembered of it.
        let changed =
            client.json("PUT", &format!("{ADMIN}/connectors/redirected"), &json!({"config": config(n + 1)}));
        assert_eq!(changed.unwrap().status, 200);
        let said = test_connector(&mut client, "redirected");
        assert!(said["error"].as_str().unwrap().contains(&code.to_string()), "{code}: {said}");
        assert_eq!(client.json("POST", "/api/v1/data/redirected", &json!({})).unwrap().status, 400, "{code}");
    }
    assert_eq!(trap.take_connection_count(), 0);
    // The trap works: leave to reach it is all that was missing.
    let free =
        json!({"config": {"url": issuer.url("/api"), "auth": oauth(&trapped), "allow_private_urls": true}});
    assert_eq!(client.json("PUT", &format!("{ADMIN}/connectors/guarded"), &free).unwrap().status, 200);
    let mut waiting = server.client();
    std::thread::scope(|scope| {
        // The trap never answers; that somebody came is enough.
        scope.spawn(|| test_connector(&mut waiting, "guarded"));
        eventually(|| trap.take_connection_count() > 0);
    });
}

/// A channel whose tokens are judged by the keys at a URL.
fn connector_body(id: &str, url: &str) -> Value {
    channel(id, "echo", json!({"auth": {"mode": "jwt", "algorithms": ["RS256"], "jwks_url": url}}))
}

/// Presents a token that makes the service look for its key.
fn present(client: &mut HttpClient, id: &str) {
    let token = "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjk5OTk5OTk5OTl9.c2ln";
    let headers = [("authorization", token), ("content-type", "application/json")];
    let answer = client.send("POST", &format!("/api/v1/data/{id}"), &headers, b"{}").unwrap();
    assert!(matches!(answer.status, 401 | 503), "{}", answer.text());
}

fn open(client: &mut HttpClient, channel: &Value) {
    svc_testkit::example::create_and_activate(client, "channels", "channel_id", channel).unwrap();
}

#[test]
fn no_key_set_is_fetched_from_inside() {
    let (server, trap) = (launch().start().unwrap(), Trap::bind().unwrap());
    let mut client = server.client();
    echo(&mut client, "echo", json!({}));
    let url = |host: &str| format!("https://{host}:{}/keys", trap.port());
    let named = |(index, host): (usize, &String)| connector_body(&format!("k{index}"), &url(host));
    let items: Vec<_> = corpus().iter().enumerate().map(named).collect();
    let (taken, refusals) = import(&mut client, "channels", &items);
    assert_eq!((taken, refusals.len()), (0, items.len()));
    open(&mut client, &connector_body("named", &url("localhost")));
    present(&mut client, "named");
    assert_eq!(trap.take_connection_count(), 0);
    let free = launch().env("SVC_JWT__ALLOW_PRIVATE_JWKS_URLS", "true").start().unwrap();
    let mut client = free.client();
    echo(&mut client, "echo", json!({}));
    open(&mut client, &connector_body("named", &url("localhost")));
    let mut presented = free.client();
    std::thread::scope(|scope| {
        // The trap never answers; that somebody came is enough.
        scope.spawn(|| present(&mut presented, "named"));
        eventually(|| trap.take_connection_count() > 0);
    });
}

#[test]
fn no_redirect_of_an_issuer_leads_anywhere() {
    let trap = Trap::bind().unwrap();
    let issuer = HttpsServer::start(Behaviour::Down).unwrap();
    let launch = launch().env("SVC_JWT__ALLOW_PRIVATE_JWKS_URLS", "true");
    let authority = issuer.write_authority(launch.directory()).unwrap();
    let server = launch.env("SSL_CERT_FILE", authority.to_str().unwrap()).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "echo", json!({}));
    for code in CODES {
        issuer.set_behaviour(Behaviour::redirect(code, &format!("http://127.0.0.1:{}/", trap.port())));
        let (id, before) = (format!("r{code}"), issuer.request_count());
        open(&mut client, &connector_body(&id, &issuer.url(&format!("/{code}"))));
        present(&mut client, &id);
        assert!(issuer.request_count() > before, "the issuer was asked");
    }
    assert_eq!(trap.take_connection_count(), 0);
}
