//! Messages for terminals: what callers and other systems have sent, which messages repeat, must not steer them.

use std::io::{self, Write};

use slog::{OwnedKVList, Record};
use slog_term::{Decorator, RecordDecorator};
use svc_outbound::{printable_json, printable_part};

/// A decorator whose texts are made printable before they are written. Colours are those of the inner decorator.
pub(super) struct PrintableDecorator<D>(pub(super) D);

impl<D: Decorator> Decorator for PrintableDecorator<D> {
    fn with_record<F>(&self, record: &Record<'_>, values: &OwnedKVList, write: F) -> io::Result<()>
    where
        F: FnOnce(&mut dyn RecordDecorator) -> io::Result<()>,
    {
        self.0.with_record(record, values, |inner| write(&mut PrintableRecord { inner, text: Vec::new() }))
    }
}

/// A message that is being written, and its text since the last change of style.
struct PrintableRecord<'d> {
    inner: &'d mut dyn RecordDecorator,
    text: Vec<u8>,
}

impl PrintableRecord<'_> {
    /// Writes the text, and changes the style.
    fn change_style(&mut self, change: fn(&mut dyn RecordDecorator) -> io::Result<()>) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        self.write_text(&text)?;
        change(self.inner)
    }

    fn write_text(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.inner.write_all(printable_part(&String::from_utf8_lossy(text)).as_bytes())
    }
}

impl Write for PrintableRecord<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Ends the message, of whose line breaks the last alone stays.
    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        match text.strip_suffix(b"\n") {
            Some(text) => {
                self.write_text(text)?;
                self.inner.write_all(b"\n")?;
            }
            None => self.write_text(&text)?,
        }
        self.inner.flush()
    }
}

impl RecordDecorator for PrintableRecord<'_> {
    fn reset(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.reset())
    }

    fn start_whitespace(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_whitespace())
    }

    fn start_msg(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_msg())
    }

    fn start_timestamp(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_timestamp())
    }

    fn start_level(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_level())
    }

    fn start_comma(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_comma())
    }

    fn start_key(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_key())
    }

    fn start_value(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_value())
    }

    fn start_location(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_location())
    }

    fn start_separator(&mut self) -> io::Result<()> {
        self.change_style(|inner| inner.start_separator())
    }
}

/// A stream of JSON documents, each written whole at its flush, with what a terminal obeys escaped in the way of JSON.
pub(super) struct PrintableJson<W> {
    inner: W,
    document: Vec<u8>,
}

impl<W> PrintableJson<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, document: Vec::new() }
    }
}

impl<W: Write> Write for PrintableJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.document.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let document = match String::from_utf8(std::mem::take(&mut self.document)) {
            Ok(text) => printable_json(text).into_bytes(),
            Err(other) => other.into_bytes(),
        };
        self.inner.write_all(&document)?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use slog::{Drain, Logger};
    use slog_term::{FullFormat, PlainSyncDecorator};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    #[test]
    fn message_for_people_is_one_safe_line() {
        let written = Written::default();
        let lines = FullFormat::new(PrintableDecorator(PlainSyncDecorator::new(written.clone())));
        let log = Logger::root(lines.build().fuse(), slog::o!());
        let sent = "a\u{1b}]0;owned\u{7}\r\nWARN forged\u{9b}2J\u{202e}\n";
        slog::warn!(log, "{}", sent; "peer" => "::1", "name" => sent);
        let safe = r"a\u{1b}]0;owned\u{7}\u{d}\u{a}WARN forged\u{9b}2J\u{202e}\u{a}";
        let text = written.text();
        for part in [format!(" WARN {safe}, "), format!("name: {safe}"), "peer: ::1".to_owned()] {
            assert!(text.contains(&part), "{text}");
        }
        assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn json_document_is_escaped_when_it_is_complete() {
        let written = Written::default();
        let mut stream = PrintableJson::new(written.clone());
        let (first, second) = "{\"a\":\"ü\u{9b}2J\u{202e}\"}\n".as_bytes().split_at(7);
        stream.write_all(first).unwrap();
        stream.write_all(second).unwrap();
        assert_eq!(written.text(), "");
        stream.flush().unwrap();
        assert_eq!(written.text(), "{\"a\":\"ü\\u009b2J\\u202e\"}\n");
    }
}
