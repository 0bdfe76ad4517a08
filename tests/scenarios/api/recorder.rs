//! Sends requests, keeps every exchange, and compares the transcript with the stored one.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use svc_testkit::http::{HttpClient, HttpResponse};

use super::masks::{mask, outline};
use super::{KEY, READ_KEY};

/// A request and its answer.
pub(super) struct RecordedExchange {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) answer: HttpResponse,
}

/// The part of an answer that the transcript shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The body with its volatile values masked.
    Body,
    /// The members of the body and the types of their values.
    Outline,
    /// The status and the content type.
    Head,
}

/// A client that keeps what it sees.
pub(super) struct Recorder {
    client: HttpClient,
    exchanges: Vec<RecordedExchange>,
    transcript: String,
}

impl Recorder {
    pub(super) fn new(client: HttpClient) -> Self {
        let client = client.with_header("x-request-id", "golden");
        Self { client, exchanges: Vec::new(), transcript: String::new() }
    }

    /// Sends a request of an admin. An empty body is none.
    pub(super) fn send(&mut self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.send_as(method, path, body, &[("x-api-key", KEY)], Shown::Body)
    }

    /// Sends a read of an admin, of which the transcript shows less.
    pub(super) fn read(&mut self, path: &str, shown: Shown) -> HttpResponse {
        self.send_as("GET", path, "", &[("x-api-key", KEY)], shown)
    }

    /// Sends a request without a credential, and one whose credential may only read.
    pub(super) fn send_without_right(&mut self, method: &str, path: &str) {
        self.send_as(method, path, "", &[], Shown::Body);
        self.send_as(method, path, "", &[("x-api-key", READ_KEY)], Shown::Body);
    }

    /// Sends a request with these headers.
    pub(super) fn send_as(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
        shown: Shown,
    ) -> HttpResponse {
        let mut headers = headers.to_vec();
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
            headers.push(("content-type", "application/json"));
        }
        let answer = self.client.send(method, path, &headers, body.as_bytes()).unwrap();
        self.write_exchange(method, path, body, &answer, shown);
        self.exchanges.push(RecordedExchange {
            method: method.to_owned(),
            path: path.to_owned(),
            answer: answer.clone(),
        });
        answer
    }

    /// Reads without a record until a state holds.
    pub(super) fn wait_for(&mut self, path: &str, holds: impl Fn(&Value) -> bool) {
        crate::support::eventually(|| {
            holds(&self.client.send("GET", path, &[("x-api-key", KEY)], b"").unwrap().json())
        });
    }

    fn write_exchange(&mut self, method: &str, path: &str, body: &str, answer: &HttpResponse, shown: Shown) {
        let content_type = answer.header("content-type").unwrap_or("-");
        let tag = answer.header("etag").map(|tag| format!(" etag {tag}")).unwrap_or_default();
        let text = match shown {
            Shown::Body => mask(&answer.text()),
            Shown::Outline => outline(&answer.json()),
            Shown::Head => String::new(),
        };
        let path = mask(&format!("\"{path}\""));
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.transcript,
            "{method} {} {body}\n{} {content_type}{tag}\n{text}\n",
            path.trim_matches('"'),
            answer.status
        );
    }

    pub(super) fn exchanges(&self) -> &[RecordedExchange] {
        &self.exchanges
    }

    /// Compares the transcript with `golden.txt`. `UPDATE_GOLDEN=1` writes it anew.
    pub(super) fn compare_with_golden(&self) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/api/golden.txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &self.transcript).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        for (line, (seen, expected)) in self.transcript.lines().zip(expected.lines()).enumerate() {
            assert_eq!(seen, expected, "line {} of golden.txt", line + 1);
        }
        assert_eq!(self.transcript.lines().count(), expected.lines().count(), "length of golden.txt");
    }
}
