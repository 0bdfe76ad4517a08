//! Server-sent events as bytes.

use bytes::Bytes;
use serde::Serialize;
use svc_api::LiveEnd;
use uuid::Uuid;

/// The reason for which the server ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The node is stopping.
    Draining,
    /// The key, or the certificate of the client, is no longer accepted.
    KeyWithdrawn,
    /// No more than one picture was asked for.
    Once,
}

impl EndReason {
    const fn name(self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::KeyWithdrawn => "key_withdrawn",
            Self::Once => "once",
        }
    }

    /// Returns the last event of a stream.
    pub fn to_event(self) -> Bytes {
        let end = LiveEnd { reason: self.name().to_owned() };
        write_event("end", None, &end)
    }
}

/// The id of an event: the sampler of one process, and the number of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    /// The sampler; that of another process is another one.
    pub(crate) sampler: Uuid,
    pub(crate) number: u64,
}

impl EventId {
    /// Parses the value of `Last-Event-ID`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (sampler, number) = text.trim().rsplit_once('-')?;
        Some(Self { sampler: Uuid::try_parse(sampler).ok()?, number: number.parse().ok()? })
    }
}

/// Writes an event. JSON has no line break, so that the data are one line.
pub(crate) fn write_event(name: &str, id: Option<EventId>, data: &impl Serialize) -> Bytes {
    // The types of the events have no value that JSON lacks.
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|id| format!("id: {}-{}\n", id.sampler.simple(), id.number)).unwrap_or_default();
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_survives_its_text() {
        let id = EventId { sampler: Uuid::now_v7(), number: 7 };
        let event = write_event("changes", Some(id), &"x");
        let text = std::str::from_utf8(&event).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
        assert_eq!(EventId::parse(line), Some(id));
        for bad in ["", "7", "x-7", "-", "é-1", "0190a1b2000070008000000000000000-x"] {
            assert_eq!(EventId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn event_ends_with_a_blank_line() {
        let event = EndReason::Draining.to_event();
        assert_eq!(&event[..], b"event: end\ndata: {\"reason\":\"draining\"}\n\n");
    }
}
