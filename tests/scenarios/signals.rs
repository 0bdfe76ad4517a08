//! Signals: drain, reload, end at once.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;

use crate::support::{echo, launch, start};

#[test]
fn term_drains_and_ends_with_0() {
    let mut server = start();
    echo(&mut server.client(), "s", json!({}));
    server.signal("TERM").unwrap();
    assert_eq!(server.wait(Duration::from_secs(20)).unwrap().code(), Some(0), "{}", server.log_text());
}

#[test]
fn draining_process_serves_until_second_signal() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "s", json!({}));
    server.signal("TERM").unwrap();
    let red = wait_until(Duration::from_secs(30), || Ok(client.get("/readyz")?.status == 503));
    assert!(red.unwrap(), "readiness turns red at once");
    assert_eq!(client.get("/readyz").unwrap().json()["components"]["initialized"], false);
    assert_eq!(client.json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200, "still serving");
    server.signal("INT").unwrap();
    server.wait(Duration::from_secs(30)).expect("the second signal ends it at once");
}

#[test]
fn hup_reloads_what_was_deferred() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "s", json!({}));
    let path = "/api/v1/admin/channels/s/status?reload=defer";
    client.json("PATCH", path, &json!({"status": "archived"})).unwrap();
    assert_eq!(client.json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200);
    server.signal("HUP").unwrap();
    let gone = wait_until(Duration::from_secs(30), || {
        Ok(client.json("POST", "/api/v1/data/s", &json!({}))?.status == 404)
    });
    assert!(gone.unwrap());
}

/// The settings of the test of reloads, with a key and the rest.
fn settings(key: &str, rest: &str) -> String {
    format!("[admin_auth]\nenabled = true\napi_keys = ['{key}']\n{rest}\n")
}

#[test]
fn reload_takes_settings_and_names_needed_restarts() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    let (first, second) = ("first-key-of-thirty-two-characters", "second-key-of-thirty-two-characters");
    std::fs::write(&file, settings(first, "")).unwrap();
    let server = launch.args(&["-c", &file.display().to_string()]).start().unwrap();
    let mut client = server.client();
    let mut ask = |key: &str, method: &str, path: &str, body: &str| {
        let headers =
            [("x-api-key", key), ("content-type", "application/json"), ("origin", "https://a.example")];
        client.send(method, path, &headers, body.as_bytes()).unwrap()
    };
    let list = "/api/v1/admin/workflows";
    let reload = "/api/v1/admin/engine/reload";
    assert_eq!((ask(first, "GET", list, "").status, ask(second, "GET", list, "").status), (200, 401));

    let rest = "[cors]\nallowed_origins = ['https://a.example']\n[server]\nmax_admin_body_size = 20\n\
                [trace_queue]\nworkers = 3\n[logging]\nlevel = 'debug'";
    std::fs::write(&file, settings(second, rest)).unwrap();
    server.signal("HUP").unwrap();
    let taken = wait_until(Duration::from_secs(30), || Ok(ask(second, "GET", list, "").status == 200));
    assert!(taken.unwrap(), "{}", server.log_text());
    assert_eq!(ask(first, "GET", list, "").status, 401, "a key that was taken away is no key");
    let listed = ask(second, "GET", list, "");
    assert_eq!(listed.header("access-control-allow-origin"), Some("https://a.example"));
    assert_eq!(ask(second, "POST", list, &"x".repeat(21)).status, 413);
    let events = ["changed settings need a restart", "trace_queue.workers", "admin_auth.api_keys"];
    let log = server.wait_for_log(&events).unwrap();
    assert!(!log.contains(second), "no key is shown");

    std::fs::write(&file, settings(first, "[server]\nprot = 1")).unwrap();
    let refused = ask(second, "POST", reload, "");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = &refused.json()["error"];
    assert_eq!(
        (&error["code"], &error["details"][0]["path"]),
        (&json!("VALIDATION_ERROR"), &json!("server.prot"))
    );
    assert_eq!(ask(second, "GET", list, "").status, 200, "what is wrong changes nothing");

    std::fs::write(&file, settings(first, "")).unwrap();
    let reloaded = ask(second, "POST", reload, "");
    assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    let expected = json!({"needs_restart": [], "taken": ["server.max_admin_body_size", "logging.level",
        "admin_auth.api_keys", "cors.allowed_origins"]});
    assert_eq!(reloaded.json()["data"]["settings"], expected);
    assert_eq!((ask(first, "GET", list, "").status, ask(second, "GET", list, "").status), (200, 401));
}

#[test]
fn committed_definitions_are_served_after_a_crash() {
    let server = start();
    echo(&mut server.client(), "s", json!({}));
    let server = server.crash_and_restart().unwrap();
    assert_eq!(server.client().json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200);
}

#[test]
fn stop_under_load_loses_no_connection() {
    for _ in 0..3 {
        let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "1").start().unwrap();
        echo(&mut server.client(), "s", json!({}));
        let clients: Vec<_> = (0..4)
            .map(|_| server.client())
            .map(|client| thread::spawn(move || until_refused(client)))
            .collect();
        server.signal("TERM").unwrap();
        for client in clients {
            assert_eq!(client.join().unwrap(), ErrorKind::ConnectionRefused);
        }
        assert_eq!(server.wait(Duration::from_secs(20)).unwrap().code(), Some(0), "{}", server.log_text());
    }
}

/// Opens a connection for each request until one fails.
fn until_refused(mut client: HttpClient) -> ErrorKind {
    loop {
        match client.json("POST", "/api/v1/data/s", &json!({})) {
            Ok(answer) => assert_eq!(answer.status, 200, "{}", answer.text()),
            Err(error) => return error.kind(),
        }
    }
}
