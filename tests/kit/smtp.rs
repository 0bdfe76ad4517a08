//! A real mail server, installed on demand, that reports the mails it received. Addresses select its
//! behaviour: see `tests/peers/smtp.py`.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::ChildProcess;
use crate::{peer, tls};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/smtp");

/// The protection of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No protection.
    None,
    /// TLS from `STARTTLS` on; nothing is accepted before.
    StartTls,
    /// TLS from the first byte.
    Implicit,
}

/// A running mail server; it ends when dropped.
#[derive(Debug)]
pub struct MailServer {
    /// `None` while the server is stopped.
    process: Option<ChildProcess>,
    arguments: Vec<String>,
    port: u16,
    authority: String,
    /// The mails received before the stop.
    earlier: Vec<Mail>,
    _files: TempDir,
}

/// A received mail.
#[derive(Clone, Debug)]
pub struct Mail(Value);

impl Mail {
    /// A field of the server's report: `sender`, `recipients`, `login`, `tls`, `hello`, `connection`,
    /// `source`.
    pub fn report_field(&self, name: &str) -> &Value {
        &self.0[name]
    }

    /// Returns a decoded header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let headers = self.0["headers"].as_array()?;
        let own = headers
            .iter()
            .find(|header| header[0].as_str().is_some_and(|key| key.eq_ignore_ascii_case(name)))?;
        own[1].as_str()
    }

    /// Returns the parts that are not containers: content type and decoded text.
    pub fn parts(&self) -> Vec<(&str, &str)> {
        let parts = self.0["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter_map(|part| Some((part[0].as_str()?, part[1].as_str()?))).collect()
    }
}

impl MailServer {
    /// Starts a server; with `login` it asks for this user and password. Reports a missing one with
    /// [`peer::report_missing`].
    pub fn start(protection: Protection, login: Option<(&str, &str)>) -> Option<Self> {
        Self::try_start(protection, login).map_err(|why| peer::report_missing("smtp", &why)).ok()
    }

    fn try_start(protection: Protection, login: Option<(&str, &str)>) -> Result<Self, String> {
        let files = TempDir::new().map_err(|error| error.to_string())?;
        let issued = tls::issue_certificate().map_err(|error| error.to_string())?;
        let [certificate, key] =
            [("certificate.pem", &issued.certificate), ("key.pem", &issued.key)].map(|(name, text)| {
                let path = files.path().join(name);
                std::fs::write(&path, text)
                    .map(|()| path.display().to_string())
                    .map_err(|error| error.to_string())
            });
        let protection = match protection {
            Protection::None => "none",
            Protection::StartTls => "starttls",
            Protection::Implicit => "implicit",
        };
        let mut arguments: Vec<String> =
            ["--tls".into(), protection.into(), "--certificate".into(), certificate?, "--key".into(), key?]
                .into();
        if let Some((user, password)) = login {
            arguments.extend(["--user", user, "--password", password].map(str::to_owned));
        }
        let (process, port) = spawn(&arguments, 0)?;
        Ok(Self {
            process: Some(process),
            arguments,
            port,
            authority: issued.authority,
            earlier: Vec::new(),
            _files: files,
        })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate of the server's authority, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the received mails.
    pub fn mails(&self) -> Vec<Mail> {
        let mut mails = self.earlier.clone();
        mails.extend(self.process.iter().flat_map(ChildProcess::lines).filter_map(|line| parse_mail(&line)));
        mails
    }

    /// Waits for the mail of an id. The server reports it before it responds, but the reader of its output
    /// may be slow.
    ///
    /// # Panics
    /// No mail of that id was received.
    #[expect(clippy::expect_used, reason = "the test's verdict")]
    pub fn mail(&self, id: &Value) -> Mail {
        let own = |lines: &[String]| {
            let mut mails = lines.iter().filter_map(|line| parse_mail(line));
            mails.find(|mail| mail.header("Message-ID").is_some_and(|known| id == known))
        };
        let process = self.process.as_ref().expect("the server runs");
        process.wait_for(own).expect("a mail of that id was received")
    }

    /// Returns `true` once a mail to `hang` has arrived, which is never answered.
    pub fn holds_mail(&self) -> bool {
        self.process.iter().flat_map(ChildProcess::lines).any(|line| line.contains("\"holds\""))
    }

    /// Kills the server, like a crash.
    pub fn stop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
            self.earlier = self.mails();
            self.process = None;
        }
    }

    /// Starts the server again on the same port.
    ///
    /// # Errors
    /// The server does not start.
    pub fn restart(&mut self) -> Result<(), String> {
        self.stop();
        let (process, _) = spawn(&self.arguments, self.port)?;
        self.process = Some(process);
        Ok(())
    }
}

fn spawn(arguments: &[String], port: u16) -> Result<(ChildProcess, u16), String> {
    let ensured = Command::new(SCRIPT).arg("ensure").output().map_err(|error| error.to_string())?;
    if !ensured.status.success() {
        return Err(String::from_utf8_lossy(&ensured.stderr).trim().to_owned());
    }
    let process =
        ChildProcess::start(Command::new(SCRIPT).args(arguments).args(["--port", &port.to_string()]))?;
    let port = process.wait_for(|lines| {
        let first: Value = serde_json::from_str(lines.first()?).ok()?;
        u16::try_from(first["port"].as_u64()?).ok()
    })?;
    Ok((process, port))
}

fn parse_mail(line: &str) -> Option<Mail> {
    let said: Value = serde_json::from_str(line).ok()?;
    said.get("sender").is_some().then_some(Mail(said))
}
