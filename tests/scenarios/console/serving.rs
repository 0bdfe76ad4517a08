//! The page of the console and its files: their paths, their headers, and the settings that move them or turn them off.

use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{error, launch, start};

/// Sends a read with these headers.
fn read(client: &mut HttpClient, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    client.send("GET", path, headers, b"").unwrap()
}

/// Returns the files that a page loads; none if the console was not built before the server.
fn files_of(page: &str) -> Vec<String> {
    let is_built = !page.contains("make console");
    let files = page.split('"').filter(|text| text.starts_with("/console/assets/")).map(str::to_owned);
    let files: Vec<_> = files.collect();
    assert_eq!(is_built, !files.is_empty(), "{page}");
    files
}

#[test]
fn every_view_is_the_page_with_strict_policy() {
    let server = start();
    let mut client = server.client();
    let page = client.get("/console").unwrap();
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self';",
        "style-src 'self';",
        "connect-src 'self';",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types svc-console",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for path in ["/console/", "/console/runs", "/console/runs/0199-a?range=1h", "/console/index.html"] {
        let view = client.get(path).unwrap();
        assert_eq!((view.status, view.text()), (200, page.text()), "{path}");
        assert_eq!(view.header("content-security-policy"), Some(policy), "{path}");
    }
    let tag = page.header("etag").unwrap();
    let known = read(&mut client, "/console", &[("if-none-match", tag)]);
    assert_eq!((known.status, known.header("etag"), known.body.len()), (304, Some(tag), 0));
    assert_eq!(client.send("HEAD", "/console", &[], b"").unwrap().status, 200);
    error(&client.send("POST", "/console", &[], b"").unwrap(), 405, "METHOD_NOT_ALLOWED");
    error(&client.get("/console/assets/absent.js").unwrap(), 404, "NOT_FOUND");
    error(&client.get("/consoles").unwrap(), 404, "NOT_FOUND");
}

#[test]
fn files_are_sent_compressed_and_kept_for_ever() {
    let server = start();
    let mut client = server.client();
    let page = client.get("/console").unwrap().text();
    for file in files_of(&page) {
        let mut tags = Vec::new();
        for (accepted, encoding) in [("br, gzip", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
            let answer = read(&mut client, &file, &[("accept-encoding", accepted)]);
            assert_eq!((answer.status, answer.header("content-encoding")), (200, encoding), "{file}");
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"), "{file}");
            assert_eq!(answer.header("vary"), Some("accept-encoding"), "{file}");
            let tag = answer.header("etag").unwrap().to_owned();
            let known = read(&mut client, &file, &[("accept-encoding", accepted), ("if-none-match", &tag)]);
            assert_eq!((known.status, known.body.len()), (304, 0), "{file}");
            tags.push(tag);
        }
        tags.dedup();
        assert_eq!(tags.len(), 3, "{file}");
    }
}

#[test]
fn console_that_is_off_is_not_found() {
    let server = launch().env("SVC_SERVER__CONSOLE__ENABLED", "false").start().unwrap();
    for path in ["/console", "/console/", "/console/runs"] {
        let refused = server.client().get(path).unwrap();
        error(&refused, 404, "NOT_FOUND");
        assert!(refused.header("content-security-policy").unwrap().starts_with("default-src 'none'; frame"));
    }
}

#[test]
fn console_at_own_path_wins_over_root_mount() {
    let server = launch()
        .env("SVC_SERVER__CONSOLE__PATH", "/ops/console")
        .env("SVC_SERVER__DATA_MOUNTS", "/")
        .start()
        .unwrap();
    let mut client = server.client();
    let page = client.get("/ops/console/actors").unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(!page.text().contains("__BASE__"));
    if !page.text().contains("make console") {
        assert!(page.text().contains("data-base=\"/ops/console\" data-api=\"\""), "{}", page.text());
    }
    for path in ["/console", "/ops", "/ops/consoles"] {
        error(&client.get(path).unwrap(), 404, "NOT_FOUND");
    }
}
