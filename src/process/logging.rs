//! The root logger: destination, filter and format of messages.
//!
//! A thread of its own writes messages to standard error or to the journal; a caller never waits for it. Dropping
//! [`Logs`] writes the rest of the queue.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use chrono::{SecondsFormat, Utc};
use parking_lot::Mutex;
use slog::{Drain, FilterLevel, Level, Logger, Record};

use crate::config::{LogFormat, LogLevel, LogTarget, LoggingSection};
use crate::process::journal::{self, JournalDrain};
pub use crate::process::log_queue::DroppedMessages;
use crate::process::log_queue::{LogQueue, WRITER_THREAD};
pub use crate::process::log_tap::LogTap;
use crate::process::log_tap::TappedQueue;
use crate::process::printable_log::{PrintableDecorator, PrintableJson};

/// The root logger and the guard of its writer.
pub struct Logs {
    /// The logger, to be cloned and handed down.
    pub log: Logger,
    /// The level, to be changed later.
    pub level: LogLevelHandle,
    /// The format of its messages; that of programs for the journal.
    pub format: LogFormat,
    /// The messages that found no room in the queue.
    pub dropped: DroppedMessages,
    /// A place for a second reader.
    pub tap: LogTap,
    /// Writes the rest of the queue when dropped.
    _flush: slog_async::AsyncGuard,
}

/// Starts logging. `rust_log` is the value of `RUST_LOG`, which goes before the configured level.
#[must_use]
pub fn start(logging: &LoggingSection, rust_log: Option<&str>) -> Logs {
    let (filter, unread) = Filter::new(logging.level, rust_log);
    let level = filter.default.clone();
    let automatic = if io::stderr().is_terminal() { LogFormat::Pretty } else { LogFormat::Json };
    let journal = match logging.target {
        LogTarget::Stderr => None,
        LogTarget::Journald => Some(JournalDrain::open(Path::new(journal::SOCKET))),
    };
    let (journal, refused) =
        journal.transpose().map_or_else(|error| (None, Some(error)), |journal| (journal, None));
    let format = match &journal {
        Some(_) => LogFormat::Json,
        None => logging.format.unwrap_or(automatic),
    };
    let (drain, guard) = match (journal, format) {
        (Some(journal), _) => LogQueue::start(journal.ignore_res()),
        (None, LogFormat::Pretty) => {
            let terminal = slog_term::TermDecorator::new().stderr().build();
            let lines = slog_term::FullFormat::new(PrintableDecorator(terminal));
            LogQueue::start(lines.use_utc_timestamp().build().ignore_res())
        }
        (None, LogFormat::Json) => LogQueue::start(json(io::stderr()).ignore_res()),
    };
    let (dropped, tap) = (drain.dropped_messages(), LogTap::default());
    let drain = TappedQueue { queue: drain, tap: tap.clone() };
    // Filtered before the queue, so that a filtered message is cheap.
    let log = Logger::root(drain.filter(move |record| filter.allows(record)).fuse(), slog::o!());
    for directive in unread {
        slog::warn!(log, "part of RUST_LOG is not understood"; "directive" => directive);
    }
    if let Some(error) = refused {
        slog::warn!(log, "there is no journal; messages go to standard error"; "socket" => journal::SOCKET,
            "error" => %error);
    }
    Logs { log, level, format, dropped, tap, _flush: guard }
}

impl Logs {
    /// Writes the notes of the configuration: as lines of text if the messages are text for people too.
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

    /// Logs panics that no supervisor catches, if messages are JSON: the panic hook of the standard library writes text.
    /// For a program that owns its process, before the service starts.
    pub fn log_panics(&self) {
        if self.format != LogFormat::Json {
            return;
        }
        let (log, previous) = (self.log.clone(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |info| {
            let thread = thread::current();
            if thread.name() == Some(WRITER_THREAD) {
                // Nobody is left to write its message.
                return previous(info);
            }
            slog::error!(log, "a panic outside supervision"; "thread" => thread.name(),
                "panic" => info.payload_as_str().unwrap_or("panicked without a text"),
                "location" => info.location().map(ToString::to_string));
        }));
    }
}

/// Returns a root logger that hands every message to the `tracing` subscriber of the process, for
/// [`Options::log`](crate::Options::log) of an application that logs with `tracing`. The subscriber filters.
pub fn to_tracing() -> Logger {
    Logger::root(tracing_slog::TracingSlogDrain, slog::o!())
}

/// One JSON object per line, each written whole.
#[expect(clippy::disallowed_methods, reason = "the time of a message is the clock of the machine")]
fn json<W: Write + Send + 'static>(output: W) -> Mutex<slog_json::Json<PrintableJson<W>>> {
    let keys = slog::o!(
        "ts" => slog::FnValue(|_: &Record<'_>| Utc::now().to_rfc3339_opts(SecondsFormat::Nanos, true)),
        "level" => slog::FnValue(|record: &Record<'_>| level_name(record.level())),
        "msg" => slog::PushFnValue(|record: &Record<'_>, serializer| serializer.emit(record.msg())),
        "target" => slog::FnValue(|record: &Record<'_>| record.module()),
    );
    let json = slog_json::Json::new(PrintableJson::new(output));
    let json = json.set_newlines(true).set_flush(true).add_key_value(keys);
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

/// The level of messages that no other rule is about. Clones share it.
#[derive(Clone, Debug)]
pub struct LogLevelHandle {
    level: Arc<AtomicUsize>,
    /// True if `RUST_LOG` names the level.
    is_fixed: bool,
}

impl LogLevelHandle {
    fn new(level: FilterLevel, is_fixed: bool) -> Self {
        Self { level: Arc::new(AtomicUsize::new(level.as_usize())), is_fixed }
    }

    /// Returns `false` if `RUST_LOG` names the level, which then stays.
    pub(crate) fn is_changeable(&self) -> bool {
        !self.is_fixed
    }

    /// Changes the level, unless `RUST_LOG` names it.
    pub(crate) fn set(&self, level: LogLevel) {
        if !self.is_fixed {
            self.level.store(filter_level(level).as_usize(), Ordering::Relaxed);
        }
    }

    fn get(&self) -> FilterLevel {
        FilterLevel::from_usize(self.level.load(Ordering::Relaxed)).unwrap_or(FilterLevel::Info)
    }
}

fn filter_level(level: LogLevel) -> FilterLevel {
    level.as_str().parse().unwrap_or(FilterLevel::Info)
}

/// A filter of messages by module; the most specific rule decides.
#[derive(Clone, Debug)]
struct Filter {
    default: LogLevelHandle,
    /// Longest target first.
    targets: Vec<(String, FilterLevel)>,
}

impl Filter {
    /// Reads `level` and `target=level`, separated by commas; returns the parts that are neither.
    fn new(level: LogLevel, rust_log: Option<&str>) -> (Self, Vec<String>) {
        let default = LogLevelHandle::new(filter_level(level), false);
        let mut filter = Self { default, targets: Vec::new() };
        let mut unread = Vec::new();
        let parts = rust_log.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
        for part in parts {
            let (target, level) =
                part.split_once('=').map_or((None, part), |(target, level)| (Some(target), level));
            match (target, level.parse::<FilterLevel>()) {
                (None, Ok(level)) => filter.default = LogLevelHandle::new(level, true),
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
        self.targets
            .iter()
            .find(|(target, _)| covers(target))
            .map_or_else(|| self.default.get(), |(_, level)| *level)
    }
}

#[cfg(test)]
mod tests {
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
    fn configured_level_holds_until_rust_log_says_otherwise() {
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
    fn level_changes_live_unless_rust_log_sets_it() {
        for (rust_log, expected) in [
            (None, FilterLevel::Debug),
            (Some("svc_store=error"), FilterLevel::Debug),
            (Some("warn"), FilterLevel::Warning),
        ] {
            let (filter, _) = Filter::new(LogLevel::Info, rust_log);
            filter.default.clone().set(LogLevel::Debug);
            assert_eq!(filter.level("svc"), expected, "{rust_log:?}");
            assert_eq!(filter.default.is_changeable(), rust_log != Some("warn"));
        }
    }

    #[test]
    fn unreadable_rust_log_directives_are_reported() {
        let (filter, unread) = Filter::new(LogLevel::Info, Some("loud, svc=debug, =info, svc=shout"));
        assert_eq!(unread, ["loud", "=info", "svc=shout"]);
        assert_eq!(filter.level("svc"), FilterLevel::Debug);
    }

    #[test]
    fn panic_outside_supervision_is_a_line_of_json() {
        let buffer = Buffer::default();
        let (drain, guard) = LogQueue::start(json(buffer.clone()).ignore_res());
        let log = Logger::root(drain.fuse(), slog::o!());
        let level = LogLevelHandle::new(FilterLevel::Info, false);
        let logs = Logs {
            log,
            level,
            format: LogFormat::Json,
            dropped: DroppedMessages::default(),
            tap: LogTap::default(),
            _flush: guard,
        };
        logs.log_panics();
        let doomed = thread::Builder::new().name("doomed".to_owned()).spawn(|| panic!("it broke"));
        assert!(doomed.unwrap().join().is_err());
        drop((std::panic::take_hook(), logs));
        let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        // Other tests may have panicked meanwhile.
        let line = lines.find(|line| line["thread"] == "doomed").unwrap();
        assert_eq!((&line["level"], &line["panic"]), (&"error".into(), &"it broke".into()));
        assert!(line["location"].as_str().is_some_and(|place| place.contains("logging.rs")), "{line}");
    }

    #[test]
    fn json_lines_carry_level_message_target_and_fields() {
        let buffer = Buffer::default();
        let (drain, guard) = LogQueue::start(json(buffer.clone()).ignore_res());
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
