//! A process that is stopped for a while, and goes on.

use std::io;
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;

use crate::Attack;
use crate::target::{AttackTarget, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "freeze",
        text: "requests that had arrived whole on kept connections are answered after the process was stopped",
        before: "17 to 20 of 20 lost in 30 s",
    },
    attack,
);

const CLIENTS: usize = 20;

#[expect(
    clippy::disallowed_methods,
    reason = "the process is to stay stopped for longer than any of its timers"
)]
fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    serve_echo(&mut server.client(), "echo", &json!({}))?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = server.client().keep_alive();
        client.json("POST", "/api/v1/data/echo", &json!({"n": 1}))?;
        clients.push(client);
    }
    server.signal("STOP")?;
    let asking: Vec<_> = clients
        .into_iter()
        .map(|mut client: HttpClient| {
            thread::spawn(move || client.json("POST", "/api/v1/data/echo", &json!({"n": 2})))
        })
        .collect();
    thread::sleep(Duration::from_secs(target.pick_size(12, 30)));
    server.signal("CONT")?;
    let answers = asking.into_iter().filter_map(|client| client.join().ok()?.ok());
    let answered = answers.filter(|answer| answer.status == 200).count();
    Ok(AttackOutcome::new(answered == CLIENTS, format!("{} of {CLIENTS} lost", CLIENTS - answered)))
}
