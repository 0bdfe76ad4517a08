//! `make demo`: starts the service, loads the quickstart, posts one order, prints the next steps, and
//! serves on.
//!
//! `DEMO_EXIT=1` ends it after the answer; `DEMO_PORT` chooses the port (8080, or a free one when that is
//! taken).

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_testkit::server::{ServerCommand, free_port};
use svc_testkit::{example, http::HttpResponse};

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(binary), Some(quickstart)) = (args.next(), args.next()) else {
        return Err(io::Error::other("usage: demo SVC_SERVER_BINARY QUICKSTART_DIRECTORY"));
    };
    let launch =
        ServerCommand::new(binary)?.port(port()?).env("SVC_METRICS__ENABLED", "true").env("RUST_LOG", "warn");
    let mut server = launch.inherit_output().start()?;
    let mut client = server.client();
    example::load(&mut client, &quickstart)?;
    let order = std::fs::read(quickstart.join("order.json"))?;
    let answer =
        client.send("POST", "/api/v1/data/orders", &[("content-type", "application/json")], &order)?;
    say(&server.address().to_string(), &quickstart, &answer);
    if answer.status != 200 {
        return Err(io::Error::other(format!("the order was answered {}", answer.status)));
    }
    if std::env::var_os("DEMO_EXIT").is_some_and(|value| value == "1") {
        server.signal("TERM")?;
        server.wait(Duration::from_secs(30))?;
        return Ok(());
    }
    announce();
    // Ctrl-C reaches the server too (same terminal): it drains, ends, and so does this.
    while server.wait(Duration::from_secs(3600)).is_err() {}
    Ok(())
}

fn port() -> io::Result<u16> {
    let wanted = std::env::var_os("DEMO_PORT").and_then(|value| value.to_str()?.parse().ok()).unwrap_or(8080);
    match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)) {
        Ok(_) => Ok(wanted),
        Err(_) => free_port(),
    }
}

#[expect(clippy::print_stdout, reason = "the demo speaks to the person who started it")]
fn say(address: &str, quickstart: &Path, answer: &HttpResponse) {
    let pretty = serde_json::to_string_pretty(&answer.json()).unwrap_or_else(|_| answer.text());
    println!("POST http://{address}/api/v1/data/orders < {}", quickstart.join("order.json").display());
    println!("{} {pretty}\n", answer.status);
    println!("Where to look next:");
    println!("  health          http://{address}/health");
    println!("  metrics         http://{address}/metrics");
    println!("  the console     http://{address}/console");
    println!("  the actor tree  http://{address}/api/v1/admin/actors");
    println!("  the channel     http://{address}/api/v1/admin/channels/orders");
}

#[expect(clippy::print_stdout, reason = "the demo speaks to the person who started it")]
fn announce() {
    println!("Serving until Ctrl-C.");
}
