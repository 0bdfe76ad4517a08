//! In a real terminal: width and colours come from it, questions are asked in it.

use std::process::Command;

use crate::support::{CliClient, serve_echo, start};

/// Runs the client in a terminal of this width through `script`; `None` without that program.
fn in_terminal(cli: &CliClient, columns: u16, args: &str) -> Option<String> {
    Command::new("script").arg("--version").output().ok().filter(|output| output.status.success())?;
    let line = format!("stty cols {columns} rows 40; exec {} {args}", env!("CARGO_BIN_EXE_svc-cli"));
    let client = cli.command(&[]);
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(std::process::Stdio::null());
    let variables = client.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let output = command.envs(variables).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

/// Returns text without its escapes.
fn bare(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut all, part| {
        all.push_str(part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest));
        all
    })
}

#[test]
fn terminal_gives_width_and_colours() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "orders-intake");
    for columns in [80, 200] {
        let Some(screen) = in_terminal(&cli, columns, "functions list") else { return };
        assert!(screen.contains("\u{1b}[1m"), "the heading is bold: {screen:?}");
        let widest = bare(&screen).lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(columns), "{widest} of {columns}: {screen}");
    }
    for args in ["--no-color workflows list", "workflows list -o json"] {
        let Some(screen) = in_terminal(&cli, 80, args) else { return };
        assert!(!screen.contains('\u{1b}'), "{args}: {screen:?}");
    }
    let plain = CliClient::with_server(&server).env("NO_COLOR", "1");
    assert!(in_terminal(&plain, 80, "workflows list").is_none_or(|screen| !screen.contains('\u{1b}')));
    let empty = CliClient::with_server(&server).env("NO_COLOR", "");
    assert!(in_terminal(&empty, 80, "workflows list").is_none_or(|screen| screen.contains('\u{1b}')));
}
