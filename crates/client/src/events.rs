//! Streams of server-sent events.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::timeout;

use crate::error::ClientError;

/// Most bytes of one event; a longer one breaks the stream off.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its name; `message` if it has none.
    pub name: String,
    /// Its id, with which a later stream goes on behind it.
    pub id: Option<String>,
    /// Its data.
    pub data: String,
}

/// A stream of events. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    response: reqwest::Response,
    server: String,
    /// Longest time between two parts of the stream.
    silence: Duration,
    parser: EventParser,
}

impl EventStream {
    pub(crate) fn new(response: reqwest::Response, server: String, silence: Duration) -> Self {
        Self { response, server, silence, parser: EventParser::default() }
    }

    /// Waits for the next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`ClientError`] when the stream breaks off, or nothing arrives for as long as a response may take.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        loop {
            if let Some(event) = self.parser.events.pop_front() {
                return Ok(Some(event));
            }
            let part = timeout(self.silence, self.response.chunk()).await;
            let timed_out = || ClientError::Timeout { server: self.server.clone(), limit: self.silence };
            let part = part.map_err(|_| timed_out())?;
            let part =
                part.map_err(|error| ClientError::from_reqwest(&error, self.server.clone(), self.silence))?;
            let Some(part) = part else { return Ok(None) };
            if !self.parser.take(&part) {
                let cause = "an event is larger than 16 MiB".to_owned();
                return Err(ClientError::Broken { server: self.server.clone(), cause });
            }
        }
    }
}

/// Puts events together from the parts of a stream.
#[derive(Debug, Default)]
struct EventParser {
    /// The bytes of the line that is not complete.
    line: Vec<u8>,
    name: Option<String>,
    id: Option<String>,
    data: Vec<String>,
    size: usize,
    events: VecDeque<ServerEvent>,
}

impl EventParser {
    /// Takes a part. Returns `false` for an event that is too large.
    fn take(&mut self, part: &[u8]) -> bool {
        for byte in part {
            self.size += 1;
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.take_line(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            } else {
                self.line.push(*byte);
            }
            if self.size > MOST_BYTES {
                return false;
            }
        }
        true
    }

    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            self.size = 0;
            let (name, id) = (self.name.take(), self.id.take());
            let data = std::mem::take(&mut self.data);
            if !data.is_empty() {
                let name = name.unwrap_or_else(|| "message".to_owned());
                self.events.push_back(ServerEvent { name, id, data: data.join("\n") });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "event" => self.name = Some(value),
            "id" => self.id = Some(value),
            "data" => self.data.push(value),
            // A comment, or a field of no use here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_parts() {
        let text = "event: picture\nid: a-1\ndata: {\"é\":1}\n\n: comment\n\ndata: x\r\ndata: y\r\n\r\nevent: end\n\n";
        let event = |name: &str, id: Option<&str>, data: &str| ServerEvent {
            name: name.to_owned(),
            id: id.map(str::to_owned),
            data: data.to_owned(),
        };
        let expected = [event("picture", Some("a-1"), "{\"é\":1}"), event("message", None, "x\ny")];
        for size in [1, 3, 1000] {
            let mut parser = EventParser::default();
            assert!(text.as_bytes().chunks(size).all(|part| parser.take(part)));
            assert_eq!(parser.events, expected, "{size}");
        }
    }

    #[test]
    fn event_without_end_is_bounded() {
        let mut parser = EventParser::default();
        let part = vec![b'x'; MOST_BYTES];
        assert!(parser.take(&part));
        assert!(!parser.take(b"x"));
    }
}
