//! The log as entries of the journal of systemd, in its native protocol: a datagram of fields for each message.

use std::fmt::{self, Write as _};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use slog::{Drain, KV as _, Level, OwnedKVList, Record, Serializer};

/// The socket of the journal.
pub(crate) const SOCKET: &str = "/run/systemd/journal/socket";
/// The name of the program in its entries.
const IDENTIFIER: &str = "svc-server";
/// Longest name of a field, in bytes.
const LONGEST_NAME: usize = 64;
/// Bytes of the text of a message that was too large for a datagram.
const CUT: usize = 32 * 1024;
/// The error of a datagram that is too large (`EMSGSIZE`).
const TOO_LARGE: i32 = 90;

/// Writes messages to the journal.
pub(crate) struct JournalDrain {
    socket: UnixDatagram,
    /// Named for each message: the journal may be replaced meanwhile.
    path: PathBuf,
}

impl JournalDrain {
    /// Opens the journal behind a socket.
    ///
    /// # Errors
    /// Nothing listens there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        UnixDatagram::unbound()?.connect(path)?;
        Ok(Self { socket: UnixDatagram::unbound()?, path: path.to_owned() })
    }

    fn send(&self, entry: &JournalEntry) -> io::Result<()> {
        self.socket.send_to(&entry.bytes, &self.path).map(drop)
    }
}

impl Drain for JournalDrain {
    type Ok = ();
    type Err = io::Error;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> io::Result<()> {
        let mut fields = MessageFields::default();
        // Collecting never fails.
        let _ = record.kv().serialize(record, &mut fields);
        let _ = values.serialize(record, &mut fields);
        let event = record.msg().to_string();
        match self.send(&JournalEntry::whole(record, &event, &fields)) {
            Err(error) if error.raw_os_error() == Some(TOO_LARGE) => {
                self.send(&JournalEntry::cut(record, &event, &fields))
            }
            sent => sent,
        }
    }
}

/// The bytes of an entry: `NAME=value` in a line, or a name, its length and a value that has line breaks.
struct JournalEntry {
    bytes: Vec<u8>,
}

impl JournalEntry {
    fn whole(record: &Record<'_>, event: &str, fields: &MessageFields) -> Self {
        let mut entry = Self::with_message(record, &fields.describe(event));
        entry.push("SVC_EVENT", event);
        for (name, value) in &fields.0 {
            entry.push(&field_name(name), value);
        }
        entry
    }

    fn cut(record: &Record<'_>, event: &str, fields: &MessageFields) -> Self {
        let message = fields.describe(event);
        let start = (0..=CUT.min(message.len())).rev().find_map(|end| message.get(..end));
        let mut entry = Self::with_message(record, start.unwrap_or_default());
        entry.push("SVC_TRUNCATED", "true");
        entry
    }

    fn with_message(record: &Record<'_>, message: &str) -> Self {
        let mut entry = Self { bytes: Vec::new() };
        entry.push("MESSAGE", message);
        entry.push("PRIORITY", priority(record.level()));
        entry.push("SYSLOG_IDENTIFIER", IDENTIFIER);
        entry.push("SVC_TARGET", record.module());
        entry
    }

    fn push(&mut self, name: &str, value: &str) {
        self.bytes.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            self.bytes.push(b'\n');
            let length = u64::try_from(value.len()).unwrap_or_default();
            self.bytes.extend_from_slice(&length.to_le_bytes());
        } else {
            self.bytes.push(b'=');
        }
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(b'\n');
    }
}

/// The fields of a message, in the order in which it has them.
#[derive(Default)]
struct MessageFields(Vec<(String, String)>);

impl MessageFields {
    /// Returns a message with its fields as one text, which is all that most readers of the journal see.
    fn describe(&self, event: &str) -> String {
        self.0.iter().fold(event.to_owned(), |mut text, (name, value)| {
            // Writing to a text never fails.
            let _ = write!(text, ", {name}: {value}");
            text
        })
    }
}

impl Serializer for MessageFields {
    fn emit_arguments(&mut self, key: slog::Key, value: &fmt::Arguments<'_>) -> slog::Result {
        self.0.push((key.to_string(), value.to_string()));
        Ok(())
    }

    fn emit_str(&mut self, key: slog::Key, value: &str) -> slog::Result {
        self.0.push((key.to_string(), value.to_owned()));
        Ok(())
    }

    fn emit_none(&mut self, _: slog::Key) -> slog::Result {
        Ok(())
    }
}

/// Returns the name of a field in the journal: capital letters, digits and underscores, after a prefix of its own, so that
/// no field passes for one of the journal.
fn field_name(key: &str) -> String {
    let upper = key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    "SVC_".chars().chain(upper).take(LONGEST_NAME).collect()
}

/// Returns the priority of a level, as syslog numbers it.
const fn priority(level: Level) -> &'static str {
    match level {
        Level::Critical => "2",
        Level::Error => "3",
        Level::Warning => "4",
        Level::Info => "6",
        Level::Debug | Level::Trace => "7",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use slog::{Logger, error, info, o};

    use super::*;

    /// Reads an entry as the journal does.
    fn parse(mut bytes: &[u8]) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| matches!(byte, b'=' | b'\n')).unwrap();
            let (name, rest) = bytes.split_at(end);
            let (value, rest) = if rest[0] == b'=' {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
                (&rest[1..end], &rest[end + 1..])
            } else {
                let length = usize::try_from(u64::from_le_bytes(rest[1..9].try_into().unwrap())).unwrap();
                (&rest[9..9 + length], &rest[10 + length..])
            };
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            fields.insert(text(name), text(value));
            bytes = rest;
        }
        fields
    }

    fn start(directory: &Path) -> (UnixDatagram, Logger) {
        let path = directory.join("journal");
        let socket = UnixDatagram::bind(&path).unwrap();
        (socket, Logger::root(JournalDrain::open(&path).unwrap().ignore_res(), o!("node" => "n-1")))
    }

    fn receive(socket: &UnixDatagram) -> BTreeMap<String, String> {
        let mut bytes = vec![0; 256 * 1024];
        let length = socket.recv(&mut bytes).unwrap();
        parse(&bytes[..length])
    }

    #[test]
    fn message_becomes_entry_with_priority_and_fields() {
        let directory = tempfile::tempdir().unwrap();
        let (socket, log) = start(directory.path());
        error!(log, "request failed"; "server.port" => 8080, "detail" => "one\ntwo", "none" => None::<&str>);
        let entry = receive(&socket);
        let field = |name: &str| entry.get(name).map(String::as_str);
        assert_eq!((field("PRIORITY"), field("SVC_EVENT")), (Some("3"), Some("request failed")));
        assert_eq!((field("SVC_SERVER_PORT"), field("SVC_DETAIL")), (Some("8080"), Some("one\ntwo")));
        assert_eq!((field("SVC_NODE"), field("SVC_NONE")), (Some("n-1"), None));
        assert_eq!(field("SVC_TARGET"), Some(module_path!()));
        let message = field("MESSAGE").unwrap();
        assert!(
            message.starts_with("request failed, ") && message.contains("server.port: 8080"),
            "{message}"
        );
        info!(log, "listening");
        assert_eq!(receive(&socket)["PRIORITY"], "6");
    }

    #[test]
    fn message_beyond_a_datagram_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let (socket, log) = start(directory.path());
        info!(log, "large"; "text" => "ä".repeat(4 << 20));
        let entry = receive(&socket);
        assert_eq!(entry["SVC_TRUNCATED"], "true");
        assert!(entry["MESSAGE"].starts_with("large, text: ä") && entry["MESSAGE"].len() <= CUT);
    }

    #[test]
    fn field_names_are_those_of_the_journal() {
        assert_eq!(field_name("request_id"), "SVC_REQUEST_ID");
        assert_eq!(field_name("_PID=1\n"), "SVC__PID_1_");
        assert_eq!(field_name(&"x".repeat(100)).len(), LONGEST_NAME);
    }

    #[test]
    fn absent_journal_is_an_error() {
        assert!(JournalDrain::open(Path::new("/nowhere/journal")).is_err());
    }
}
