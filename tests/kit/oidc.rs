//! A real OpenID provider, installed on demand. A refresh token is valid once; its second use revokes the
//! whole family. Over TLS it has pages on which anybody signs in, and may consent or not.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::http::HttpClient;
use crate::peer;

/// A running provider; it ends when dropped, or with this process.
#[derive(Debug)]
pub struct OidcProvider {
    child: Child,
    address: SocketAddr,
    scheme: &'static str,
}

/// An event of the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// `granted`, `refused`, or `revoked` for the whole family.
    pub event: String,
    /// The presented refresh token, if any.
    pub shown: Option<String>,
    /// The issued refresh token.
    pub refresh_token: Option<String>,
    /// The issued access token.
    pub access_token: Option<String>,
}

impl OidcProvider {
    /// Starts a provider whose access tokens live `seconds`. Reports a missing one with
    /// [`peer::report_missing`].
    pub fn start(seconds: u64) -> Option<Self> {
        Self::launch(seconds, None).map_err(|why| peer::report_missing("oidc-provider", &why)).ok()
    }

    /// Starts a provider that shows this certificate, and its pages for signing in, as [`start`](Self::start) does.
    pub fn start_over_tls(seconds: u64, certificate: &Path, key: &Path) -> Option<Self> {
        let started = Self::launch(seconds, Some([certificate, key]));
        started.map_err(|why| peer::report_missing("oidc-provider", &why)).ok()
    }

    fn launch(seconds: u64, files: Option<[&Path; 2]>) -> Result<Self, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/oidc");
        let scheme = if files.is_some() { "https" } else { "http" };
        let mut child = Command::new(script)
            .arg(seconds.to_string())
            .args(files.into_iter().flatten())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("it has no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim().strip_prefix("ready ").and_then(|url| url.strip_prefix(scheme));
        let address = address.and_then(|rest| rest.strip_prefix("://")?.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address, scheme }),
            None => {
                // The process is ending.
                let _ = child.kill();
                let output = child.wait_with_output().map_err(|error| error.to_string())?;
                Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
            }
        }
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name by which the provider calls itself.
    pub fn issuer(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// The token endpoint.
    pub fn token_url(&self) -> String {
        format!("{}/token", self.issuer())
    }

    /// Issues a refresh token to the client `basic`, the first of its family.
    ///
    /// # Errors
    /// The message of the provider.
    pub fn issue_refresh_token(&self) -> Result<String, String> {
        self.ask("POST", "/seed")
    }

    /// Returns the events of the token endpoint so far, in order.
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

    /// Holds back the responses of the token endpoint from now on, whatever they grant.
    ///
    /// # Errors
    /// The provider does not answer.
    pub fn hold_responses(&self) -> Result<(), String> {
        self.ask("POST", "/hold").map(drop)
    }

    /// Sends the held responses.
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
        // A process that has ended needs no kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
