//! The root logger: destination, filter and format of messages.
//!
//! A thread of its own writes messages to standard error; a caller never waits for it. Once the queue is
//! full, further messages are dropped and their number is logged. Dropping [`Logs`] writes the rest of the
//! queue.

use std::io::{self, IsTerminal as _, Write};

use chrono::{SecondsFormat, Utc};
use parking_lot::Mutex;
use slog::{Drain, FilterLevel, Level, Logger, Record};

use crate::config::{LogFormat, LogLevel, LoggingSection};

/// Messages that may wait to be written.
const QUEUE: usize = 4096;

/// The root logger and the guard of its writer.
pub struct Logs {
    /// The logger, to be cloned and handed down.
    pub log: Logger,
    /// The format of its messages.
    pub format: LogFormat,
    /// Writes the rest of the queue when dropped.
    _flush: slog_async::AsyncGuard,
}

/// Starts logging. `rust_log` is the value of `RUST_LOG`, which goes before the configured level.
#[must_use]
pub fn start(logging: &LoggingSection, rust_log: Option<&str>) -> Logs {
    let (filter, unread) = Filter::new(logging.level, rust_log);
    let automatic = if io::stderr().is_terminal() { LogFormat::Pretty } else { LogFormat::Json };
    let format = logging.format.unwrap_or(automatic);
    let (drain, guard) = match format {
        LogFormat::Pretty => {
            let lines = slog_term::FullFormat::new(slog_term::TermDecorator::new().stderr().build());
            queue(lines.use_utc_timestamp().build().ignore_res())
        }
        LogFormat::Json => queue(json(io::stderr()).ignore_res()),
    };
    // Filtered before the queue, so that a filtered message is cheap.
    let log = Logger::root(drain.filter(move |record| filter.allows(record)).fuse(), slog::o!());
    for directive in unread {
        slog::warn!(log, "part of RUST_LOG is not understood"; "directive" => directive);
    }
    Logs { log, format, _flush: guard }
}

impl Logs {
    /// Writes the notes of the configuration: as lines of text where the messages are text for people too.
    ///
    /// # Errors
    /// The text cannot be written.
    pub fn write_notes(&self, notes: &[String], err: &mut dyn Write) -> io::Result<()> {
        for note in notes {
            match self.format {
                LogFormat::Pretty => writeln!(err, "warning: {note}")?,
                LogFormat::Json => slog::warn!(self.log, "{}", note),
            }
        }
        Ok(())
    }
}

fn queue<D>(drain: D) -> (slog_async::Async, slog_async::AsyncGuard)
where
    D: Drain<Ok = (), Err = slog::Never> + Send + 'static,
{
    slog_async::Async::new(drain).chan_size(QUEUE).build_with_guard()
}

/// One JSON object per line, each written whole.
fn json<W: Write + Send + 'static>(output: W) -> Mutex<slog_json::Json<W>> {
    let keys = slog::o!(
        "ts" => slog::FnValue(|_: &Record<'_>| Utc::now().to_rfc3339_opts(SecondsFormat::Nanos, true)),
        "level" => slog::FnValue(|record: &Record<'_>| level_name(record.level())),
        "msg" => slog::PushFnValue(|record: &Record<'_>, serializer| serializer.emit(record.msg())),
        "target" => slog::FnValue(|record: &Record<'_>| record.module()),
    );
    let json = slog_json::Json::new(output).set_newlines(true).set_flush(true).add_key_value(keys);
    Mutex::new(json.build())
}

/// Returns the word of a level, as `logging.level` has it.
fn level_name(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::Error => LogLevel::Error,
        Level::Warning => LogLevel::Warn,
        Level::Info => LogLevel::Info,
        Level::Debug => LogLevel::Debug,
        Level::Trace => LogLevel::Trace,
    }
    .as_str()
}

/// A filter of messages by module; the most specific rule decides.
#[derive(Clone, Debug)]
struct Filter {
    default: FilterLevel,
    /// Longest target first.
    targets: Vec<(String, FilterLevel)>,
}

impl Filter {
    /// Reads `level` and `target=level`, separated by commas; returns the parts that are neither.
    fn new(level: LogLevel, rust_log: Option<&str>) -> (Self, Vec<String>) {
        let default = level.as_str().parse().unwrap_or(FilterLevel::Info);
        let mut filter = Self { default, targets: Vec::new() };
        let mut unread = Vec::new();
        let parts = rust_log.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
        for part in parts {
            let (target, level) =
                part.split_once('=').map_or((None, part), |(target, level)| (Some(target), level));
            match (target, level.parse::<FilterLevel>()) {
                (None, Ok(level)) => filter.default = level,
                (Some(target), Ok(level)) if !target.is_empty() => {
                    filter.targets.push((target.to_owned(), level))
                }
                _ => unread.push(part.to_owned()),
            }
        }
        filter.targets.sort_by_key(|(target, _)| std::cmp::Reverse(target.len()));
        (filter, unread)
    }

    fn allows(&self, record: &Record<'_>) -> bool {
        self.level(record.module()).accepts(record.level())
    }

    fn level(&self, module: &str) -> FilterLevel {
        let covers = |target: &str| {
            module.strip_prefix(target).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        self.targets.iter().find(|(target, _)| covers(target)).map_or(self.default, |(_, level)| *level)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_configured_level_holds_until_rust_log_says_otherwise() {
        let level = |rust_log, module| Filter::new(LogLevel::Warn, rust_log).0.level(module);
        assert_eq!(level(None, "svc"), FilterLevel::Warning);
        assert_eq!(level(Some(""), "svc"), FilterLevel::Warning);
        assert_eq!(level(Some("debug"), "svc"), FilterLevel::Debug);
        assert_eq!(level(Some("svc=trace"), "svc::http"), FilterLevel::Trace);
        assert_eq!(level(Some("svc=trace"), "svc_store"), FilterLevel::Warning);
        assert_eq!(level(Some("svc=trace,svc::http=error,info"), "svc::http::data"), FilterLevel::Error);
        assert_eq!(level(Some("svc=off"), "svc"), FilterLevel::Off);
    }

    #[test]
    fn what_rust_log_says_unclearly_is_told() {
        let (filter, unread) = Filter::new(LogLevel::Info, Some("loud, svc=debug, =info, svc=shout"));
        assert_eq!(unread, ["loud", "=info", "svc=shout"]);
        assert_eq!(filter.level("svc"), FilterLevel::Debug);
    }

    #[test]
    fn json_lines_carry_level_message_target_and_fields() {
        let buffer = Buffer::default();
        let (drain, guard) = queue(json(buffer.clone()).ignore_res());
        let log = Logger::root(drain.fuse(), slog::o!());
        slog::info!(log, "listening"; "port" => 8080);
        slog::error!(log, "failed");
        slog::warn!(log, "late");
        drop(log);
        drop(guard);
        let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let levels: Vec<_> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["info", "error", "warn"]);
        let line = &lines[0];
        assert_eq!(line["msg"], "listening");
        assert_eq!(line["port"], 8080);
        assert_eq!(line["target"], module_path!());
        assert!(line["ts"].as_str().is_some_and(|instant| instant.ends_with('Z')), "{line}");
    }
}
