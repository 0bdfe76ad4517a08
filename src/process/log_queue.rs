//! The queue between the callers of the logger and its writer, bounded in messages and in bytes.
//!
//! A message that finds no room is dropped, and the number of dropped messages is logged with the next one that finds
//! some: callers never wait, and logged requests cannot fill the memory.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use slog::{Drain, KV as _, Level, Never, OwnedKVList, Record, Serializer};
use slog_async::{AsyncCore, AsyncGuard};

/// Messages that may wait to be written.
const MESSAGES: usize = 4096;
/// Bytes of messages that may wait to be written.
const BYTES: usize = 8 << 20;
/// Bytes of a message in addition to its texts, and of each of its fields.
const OVERHEAD: usize = 64;

/// Name of the thread that writes the messages.
pub(crate) const WRITER_THREAD: &str = "svc-log";

/// The number of messages that found no room in the queue. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct DroppedMessages(Arc<AtomicU64>);

impl DroppedMessages {
    /// Returns the number since the start of the process.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The entrance to the queue.
pub(crate) struct LogQueue {
    queue: AsyncCore,
    waiting: WaitingBytes,
    /// Those that no message has reported yet.
    dropped: AtomicUsize,
    all_dropped: DroppedMessages,
}

impl LogQueue {
    /// Starts the thread that writes to `drain`. Dropping the guard writes the rest of the queue.
    pub(crate) fn start<D>(drain: D) -> (Self, AsyncGuard)
    where
        D: Drain<Ok = (), Err = Never> + Send + 'static,
    {
        let waiting = WaitingBytes::default();
        let writer = Writer { drain, waiting: waiting.clone() };
        let queue = AsyncCore::custom(writer).chan_size(MESSAGES).thread_name(WRITER_THREAD.to_owned());
        let (queue, guard) = queue.build_with_guard();
        let all_dropped = DroppedMessages::default();
        (Self { queue, waiting, dropped: AtomicUsize::new(0), all_dropped }, guard)
    }

    /// Returns the count of messages that found no room.
    pub(crate) fn dropped_messages(&self) -> DroppedMessages {
        self.all_dropped.clone()
    }

    /// Puts a message into the queue; `false` if it is full.
    fn push(&self, record: &Record<'_>, values: &OwnedKVList) -> bool {
        let bytes = measure(record);
        if !self.waiting.take(bytes) {
            return false;
        }
        let is_queued = self.queue.log(record, values).is_ok();
        if !is_queued {
            self.waiting.give_back(bytes);
        }
        is_queued
    }
}

impl Drain for LogQueue {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        if !self.push(record, values) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            self.all_dropped.0.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let count = self.dropped.swap(0, Ordering::Relaxed);
        if count > 0 {
            let is_told = self.push(
                &slog::record!(
                    Level::Warning,
                    "",
                    &format_args!("log messages dropped: they come faster than they are written"),
                    slog::b!("count" => count)
                ),
                values,
            );
            if !is_told {
                self.dropped.fetch_add(count, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Writes the messages of the queue and gives their bytes back.
struct Writer<D> {
    drain: D,
    waiting: WaitingBytes,
}

impl<D: Drain<Ok = (), Err = Never>> Drain for Writer<D> {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        let written = self.drain.log(record, values);
        self.waiting.give_back(measure(record));
        written
    }
}

/// The bytes of the messages in the queue. Cheap to clone.
#[derive(Clone, Default)]
struct WaitingBytes(Arc<AtomicUsize>);

impl WaitingBytes {
    /// Takes the bytes of a message; `false` if there is no room for it.
    fn take(&self, bytes: usize) -> bool {
        let grown = |used: usize| Some(used.saturating_add(bytes)).filter(|sum| *sum <= BYTES);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    /// Gives bytes back, at most those that are taken: a value that shows more at its second reading must not leave the
    /// queue without room for ever.
    fn give_back(&self, bytes: usize) {
        let shrunk = |used: usize| Some(used.saturating_sub(bytes));
        // The closure always returns a value.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, shrunk);
    }
}

/// Returns the bytes of a message. They are the same on either side of the queue, which copies texts and numbers.
fn measure(record: &Record<'_>) -> usize {
    let mut size = MessageSize(OVERHEAD);
    // Counting never fails.
    let _ = size.write_fmt(*record.msg());
    let _ = record.kv().serialize(record, &mut size);
    size.0
}

/// Counts what is written to it.
struct MessageSize(usize);

impl fmt::Write for MessageSize {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

impl Serializer for MessageSize {
    fn emit_arguments(&mut self, key: slog::Key, value: &fmt::Arguments<'_>) -> slog::Result {
        self.0 += OVERHEAD + key.len();
        Ok(self.write_fmt(*value)?)
    }

    fn emit_str(&mut self, key: slog::Key, value: &str) -> slog::Result {
        self.0 += OVERHEAD + key.len() + value.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use parking_lot::Mutex;
    use slog::{Logger, info, o};

    use super::*;

    /// A writer that waits for an order to continue, and reports what it has written.
    struct Stopped {
        go_on: Mutex<mpsc::Receiver<()>>,
        written: mpsc::Sender<String>,
    }

    impl Drain for Stopped {
        type Ok = ();
        type Err = Never;

        fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
            // Once the sender is gone nothing is held any more.
            let _ = self.go_on.lock().recv();
            let _ = self.written.send(record.msg().to_string());
            Ok(())
        }
    }

    #[test]
    fn bytes_given_back_beyond_those_taken_leave_room() {
        let waiting = WaitingBytes::default();
        assert!(waiting.take(10));
        waiting.give_back(11);
        assert_eq!(waiting.0.load(Ordering::Relaxed), 0);
        assert!(waiting.take(BYTES), "all of the room is there");
    }

    #[test]
    fn messages_beyond_the_bound_are_dropped_and_counted() {
        let (go_on, stopped) = mpsc::channel();
        let (written, lines) = mpsc::channel();
        let (queue, guard) = LogQueue::start(Stopped { go_on: Mutex::new(stopped), written });
        let (waiting, dropped) = (queue.waiting.clone(), queue.dropped_messages());
        let log = Logger::root(queue.fuse(), o!());
        let path = "x".repeat(BYTES / 8);
        for number in 0..20 {
            info!(log, "answered"; "path" => &path, "number" => number, "took" => %1.5, "none" => None::<u8>);
        }
        assert!(waiting.0.load(Ordering::Relaxed) <= BYTES);
        assert_eq!(dropped.count(), 13);
        drop(go_on);
        for _ in 0..7 {
            assert_eq!(lines.recv().unwrap(), "answered");
        }
        info!(log, "later"; "c" => 'c', "unit" => (), "big" => u64::MAX);
        assert_eq!(lines.recv().unwrap(), "later");
        assert!(lines.recv().unwrap().starts_with("log messages dropped"));
        drop((log, guard));
        assert_eq!(waiting.0.load(Ordering::Relaxed), 0, "everything is given back");
    }
}
