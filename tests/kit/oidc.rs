//! A real OpenID provider, installed where it is missing: refresh tokens are good once, and one that comes twice ends its family.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::http::HttpClient;
use crate::peer;

/// A provider of its own; ends when dropped, or with this process.
#[derive(Debug)]
pub struct OidcProvider {
    child: Child,
    address: SocketAddr,
}

/// What the token endpoint did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// `granted`, `refused`, or `revoked`: the whole family was ended.
    pub event: String,
    /// The refresh token it was shown, if any.
    pub shown: Option<String>,
    /// The refresh token it gave out.
    pub refresh_token: Option<String>,
    /// The access token it gave out.
    pub access_token: Option<String>,
}

impl OidcProvider {
    /// One whose tokens live so many seconds. Where there is none, says so as [`peer::report_missing`] does.
    pub fn start(seconds: u64) -> Option<Self> {
        Self::launch(seconds).map_err(|why| peer::report_missing("oidc-provider", &why)).ok()
    }

    fn launch(seconds: u64) -> Result<Self, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/oidc");
        let mut child = Command::new(script)
            .arg(seconds.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("it has no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim().strip_prefix("ready http://").and_then(|address| address.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                // It is ending anyway.
                let _ = child.kill();
                let output = child.wait_with_output().map_err(|error| error.to_string())?;
                Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
            }
        }
    }

    /// The token endpoint.
    pub fn token_url(&self) -> String {
        format!("http://{}/token", self.address)
    }

    /// A new refresh token of the client `basic`, the first of its family.
    ///
    /// # Errors
    /// What the provider says.
    pub fn issue_refresh_token(&self) -> Result<String, String> {
        self.ask("POST", "/seed")
    }

    /// What the token endpoint did so far, in order.
    ///
    /// # Errors
    /// The provider does not answer.
    pub fn token_events(&self) -> Result<Vec<TokenEvent>, String> {
        let log: Value =
            serde_json::from_str(&self.ask("GET", "/log")?).map_err(|error| error.to_string())?;
        let text = |entry: &Value, name: &str| entry[name].as_str().map(str::to_owned);
        let event = |entry: &Value| TokenEvent {
            event: text(entry, "event").unwrap_or_default(),
            shown: text(entry, "shown"),
            refresh_token: text(entry, "refresh_token"),
            access_token: text(entry, "access_token"),
        };
        Ok(log.as_array().into_iter().flatten().map(event).collect())
    }

    /// From now on keeps the answers of the token endpoint back, whatever they grant.
    ///
    /// # Errors
    /// The provider does not answer.
    pub fn hold_responses(&self) -> Result<(), String> {
        self.ask("POST", "/hold").map(drop)
    }

    /// Sends what was kept back.
    ///
    /// # Errors
    /// The provider does not answer.
    pub fn release_responses(&self) -> Result<(), String> {
        self.ask("POST", "/release").map(drop)
    }

    fn ask(&self, method: &str, path: &str) -> Result<String, String> {
        let answer =
            HttpClient::new(self.address).send(method, path, &[], b"").map_err(|error| error.to_string())?;
        if answer.status == 200 { Ok(answer.text()) } else { Err(answer.text()) }
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        // Already ended is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
