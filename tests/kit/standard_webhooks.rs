//! A receiver of webhooks that verifies them with the library `standardwebhooks` of PyPI, installed on demand.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Map, json};

use crate::peer;
use crate::upstream::ReceivedRequest;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/webhooks");

/// Verifies requests with a secret. Returns for each `accepted` or the error of the library; reports a missing library
/// with [`peer::report_missing`].
pub fn verify(requests: &[ReceivedRequest], secret: &str) -> Option<Vec<String>> {
    try_verify(requests, secret).map_err(|why| peer::report_missing("standardwebhooks", &why)).ok()
}

fn try_verify(requests: &[ReceivedRequest], secret: &str) -> Result<Vec<String>, String> {
    let mut process = Command::new(SCRIPT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut lines = String::new();
    for request in requests {
        let headers: Map<_, _> =
            request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let received = json!({"secret": secret, "headers": headers, "body": request.text()});
        lines.push_str(&format!("{received}\n"));
    }
    // A process that has ended says why below.
    let _ = process.stdin.take().map(|mut input| input.write_all(lines.as_bytes()));
    let output = process.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
