//! The phase of a connection, shared by its stream, which sees bytes, and the requests on it, which know
//! their meaning.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use super::stream::ClientStream;
use super::tls::ClientCertificate;
use super::transfer_window::{ConnectionTimeouts, TransferWindow};

/// Bytes taken from a socket while no reader asks for them: the start of a body, or requests sent ahead.
const READ_AHEAD: usize = 16 * 1024;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    /// Accepted; no byte has come.
    Accepted,
    /// Open, with no request in progress.
    Idle,
    /// A head is arriving.
    Head,
    /// A request is handled and no body is asked for.
    Handling,
    /// A handler waits for its body.
    Body,
    /// An answer that the dispatcher holds whole is being written.
    Answering,
    /// An answer that is produced in parts is being written.
    Streaming,
}

/// A limit that a client has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// No request began in time. Nothing is wrong: the connection is closed.
    Idle,
    /// A head did not end in time.
    Head,
    /// A body did not arrive in time, or came too slowly.
    Body,
    /// An answer is not read, or too slowly.
    Answer,
}

/// The state of one connection.
pub struct ConnectionState {
    timeouts: ConnectionTimeouts,
    phase: Cell<ConnectionPhase>,
    since: Cell<Instant>,
    body: Cell<TransferWindow>,
    unasked: Cell<usize>,
    expired: Cell<Option<Expiry>>,
    paused: Cell<Option<Waker>>,
    /// Wakes the connection while it is idle.
    idle: Cell<Option<Waker>>,
    /// The service drains: the connection ends once it is idle.
    is_ending: Cell<bool>,
    stream: Cell<Option<ReturnedStream>>,
    tls: Option<TlsPeer>,
}

/// The client at the other end of a TLS connection.
#[derive(Clone, Debug, Default)]
pub struct TlsPeer {
    /// The certificate that it has proved; `None` for a client without one.
    certificate: Option<Rc<ClientCertificate>>,
}

impl TlsPeer {
    pub(super) fn new(certificate: Option<ClientCertificate>) -> Self {
        Self { certificate: certificate.map(Rc::new) }
    }

    /// Returns true if the client has proved a certificate in the handshake.
    pub fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    /// Returns true while it has a certificate that the service accepts.
    pub fn is_certified(&self) -> bool {
        self.certificate.as_ref().is_some_and(|certificate| certificate.is_accepted())
    }
}

impl ConnectionState {
    pub(crate) fn new(timeouts: ConnectionTimeouts) -> Self {
        let now = Instant::now();
        Self {
            timeouts,
            phase: Cell::new(ConnectionPhase::Accepted),
            since: Cell::new(now),
            body: Cell::new(TransferWindow::starting_at(now)),
            unasked: Cell::new(0),
            expired: Cell::new(None),
            paused: Cell::new(None),
            idle: Cell::new(None),
            is_ending: Cell::new(false),
            stream: Cell::new(None),
            tls: None,
        }
    }

    /// Makes the state of a connection within TLS.
    pub(super) fn within_tls(timeouts: ConnectionTimeouts, peer: TlsPeer) -> Self {
        Self { tls: Some(peer), ..Self::new(timeouts) }
    }

    /// Returns the client of a TLS connection; `None` in plain text.
    pub fn tls(&self) -> Option<TlsPeer> {
        self.tls.clone()
    }

    pub(crate) fn timeouts(&self) -> &ConnectionTimeouts {
        &self.timeouts
    }

    /// Enters a phase; paused reading continues.
    fn enter(&self, phase: ConnectionPhase) {
        self.phase.set(phase);
        self.unasked.set(0);
        if let Some(waker) = self.paused.take() {
            waker.wake();
        }
    }

    /// Records that a handler has the head of a request.
    pub fn begin_request(&self) {
        self.enter(ConnectionPhase::Handling);
    }

    /// Asks for the body until the guard is dropped.
    pub fn read_body(self: &Rc<Self>) -> BodyReading {
        let now = Instant::now();
        self.since.set(now);
        self.body.set(TransferWindow::starting_at(now));
        self.enter(ConnectionPhase::Body);
        BodyReading(Rc::clone(self))
    }

    /// Records that a request has its response; `is_stream`: the response is produced in parts.
    pub fn end_request(&self, is_stream: bool) {
        if is_stream {
            self.since.set(Instant::now());
        }
        self.enter(if is_stream { ConnectionPhase::Streaming } else { ConnectionPhase::Answering });
    }

    /// Records that the dispatcher has flushed its output. An idle connection is woken when it is to end.
    pub(super) fn mark_flushed(&self, waker: &Waker) {
        if self.phase.get() != ConnectionPhase::Answering {
            return;
        }
        self.since.set(Instant::now());
        self.enter(ConnectionPhase::Idle);
        if self.is_ending.get() {
            waker.wake_by_ref();
            return;
        }
        let stored = self.idle.take().filter(|stored| stored.will_wake(waker));
        self.idle.set(Some(stored.unwrap_or_else(|| waker.clone())));
    }

    /// Ends the connection as soon as it is idle. One that waits for its first request gets it served.
    pub(super) fn end_when_idle(&self) {
        self.is_ending.set(true);
        if let Some(waker) = self.idle.take() {
            waker.wake();
        }
    }

    /// Returns `true` if the connection is idle and is to end.
    pub(super) fn must_end(&self) -> bool {
        self.is_ending.get() && self.phase.get() == ConnectionPhase::Idle
    }

    /// Records bytes that were read.
    pub(super) fn record_received(&self, bytes: usize) {
        match self.phase.get() {
            ConnectionPhase::Accepted | ConnectionPhase::Idle => {
                self.since.set(Instant::now());
                self.phase.set(ConnectionPhase::Head);
            }
            ConnectionPhase::Head => {}
            ConnectionPhase::Body => {
                let mut window = self.body.get();
                window.record(bytes);
                self.body.set(window);
            }
            ConnectionPhase::Handling | ConnectionPhase::Answering | ConnectionPhase::Streaming => {
                self.unasked.set(self.unasked.get().saturating_add(bytes));
            }
        }
    }

    /// Records bytes that were written.
    pub(super) fn record_sent(&self) {
        if self.phase.get() == ConnectionPhase::Streaming {
            self.since.set(Instant::now());
        }
    }

    /// Returns `true` to stop reading ahead of the handler, and stores the waker for its next request for
    /// input.
    pub(super) fn pause_reading(&self, waker: &Waker) -> bool {
        let unasked = matches!(
            self.phase.get(),
            ConnectionPhase::Handling | ConnectionPhase::Answering | ConnectionPhase::Streaming
        );
        let paused = unasked && self.unasked.get() >= READ_AHEAD;
        if paused {
            self.paused.set(Some(waker.clone()));
        }
        paused
    }

    /// Returns `true` while a head is read, which must be parsed before much more is read.
    pub(super) fn reads_head(&self) -> bool {
        matches!(self.phase.get(), ConnectionPhase::Accepted | ConnectionPhase::Idle | ConnectionPhase::Head)
    }

    /// Returns `true` if output may be a response of the dispatcher, which refuses a malformed head by
    /// itself.
    pub(super) fn may_refuse(&self) -> bool {
        self.reads_head() || self.phase.get() == ConnectionPhase::Answering
    }

    /// Returns the instant by which the client must have sent something; `None` while the client waits.
    pub(super) fn input_deadline(&self) -> Option<Instant> {
        let (since, limits) = (self.since.get(), &self.timeouts);
        match self.phase.get() {
            ConnectionPhase::Accepted | ConnectionPhase::Head => Some(since + limits.head),
            ConnectionPhase::Idle | ConnectionPhase::Streaming => Some(since + limits.keep_alive),
            ConnectionPhase::Body => Some((since + limits.body).min(self.body.get().ends_at(limits))),
            ConnectionPhase::Handling | ConnectionPhase::Answering => None,
        }
    }

    /// Returns the exceeded limit, if any.
    pub(super) fn overdue_input(&self, now: Instant) -> Option<Expiry> {
        if self.input_deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        match self.phase.get() {
            ConnectionPhase::Head => Some(Expiry::Head),
            ConnectionPhase::Body => {
                let mut window = self.body.get();
                let too_slow = window.is_too_slow(now, &self.timeouts);
                self.body.set(window);
                (too_slow || now >= self.since.get() + self.timeouts.body).then_some(Expiry::Body)
            }
            ConnectionPhase::Accepted | ConnectionPhase::Idle | ConnectionPhase::Streaming => {
                Some(Expiry::Idle)
            }
            ConnectionPhase::Handling | ConnectionPhase::Answering => None,
        }
    }

    /// Excludes time in which this thread did not run, which is not the client's fault.
    pub(super) fn exclude_time(&self, missed: Duration, now: Instant) {
        self.since.set((self.since.get() + missed).min(now));
        let mut window = self.body.get();
        window.shift(missed, now);
        self.body.set(window);
    }

    pub(super) fn expire(&self, expiry: Expiry) {
        self.expired.set(Some(expiry));
    }

    /// Returns the limit that ended this connection.
    pub fn expiry(&self) -> Option<Expiry> {
        self.expired.get()
    }

    /// Stores the socket once the dispatcher has released it.
    pub(super) fn hand_back(&self, returned: ReturnedStream) {
        self.stream.set(Some(returned));
    }

    pub(super) fn take_stream(&self) -> Option<ReturnedStream> {
        self.stream.take()
    }
}

/// A socket that the dispatcher has released.
pub(super) struct ReturnedStream {
    pub(super) stream: ClientStream,
    /// `true` if a response of the dispatcher was held back and is owed to the client.
    pub(super) owes_refusal: bool,
}

/// The guard of a handler that reads its body. Dropping it returns the connection to handling.
pub struct BodyReading(Rc<ConnectionState>);

impl Drop for BodyReading {
    fn drop(&mut self) {
        if self.0.phase.get() == ConnectionPhase::Body {
            self.0.enter(ConnectionPhase::Handling);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const LIMITS: ConnectionTimeouts = ConnectionTimeouts {
        head: Duration::from_secs(10),
        keep_alive: Duration::from_secs(75),
        body: Duration::from_secs(300),
        window: Duration::from_secs(30),
        window_bytes: 1_000,
    };

    fn instant_after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn first_request_has_head_timeout_later_keep_alive() {
        let state = ConnectionState::new(LIMITS);
        assert_eq!(state.overdue_input(instant_after(9)), None);
        assert_eq!(state.overdue_input(instant_after(10)), Some(Expiry::Idle));
        state.record_received(5);
        assert_eq!(state.overdue_input(instant_after(10)), Some(Expiry::Head));
        state.begin_request();
        assert_eq!(state.overdue_input(instant_after(1_000)), None, "a handler may take its time");
        state.end_request(false);
        state.mark_flushed(Waker::noop());
        assert_eq!(state.overdue_input(instant_after(74)), None);
        assert_eq!(state.overdue_input(instant_after(75)), Some(Expiry::Idle));
    }

    #[tokio::test(start_paused = true)]
    async fn body_needs_the_rate_and_the_total_time() {
        let state = Rc::new(ConnectionState::new(LIMITS));
        state.begin_request();
        let reading = state.read_body();
        state.record_received(1_000);
        assert_eq!(state.overdue_input(instant_after(30)), None);
        assert_eq!(state.overdue_input(instant_after(60)), Some(Expiry::Body));
        for _ in 0..10 {
            state.record_received(100_000);
            state.overdue_input(instant_after(300));
        }
        assert_eq!(state.overdue_input(instant_after(300)), Some(Expiry::Body));
        drop(reading);
        assert_eq!(state.overdue_input(instant_after(300)), None);
    }

    #[test]
    fn drained_connection_ends_once_it_is_idle() {
        let state = ConnectionState::new(LIMITS);
        state.end_when_idle();
        assert!(!state.must_end(), "its first request is served");
        state.record_received(5);
        state.begin_request();
        state.end_request(false);
        assert!(!state.must_end(), "its response is being sent");
        state.mark_flushed(Waker::noop());
        assert!(state.must_end());
        state.record_received(5);
        assert!(!state.must_end(), "a request came before the end");
    }

    #[tokio::test(start_paused = true)]
    async fn missed_time_extends_the_head() {
        let state = ConnectionState::new(LIMITS);
        state.record_received(5);
        tokio::time::advance(Duration::from_secs(40)).await;
        state.exclude_time(Duration::from_secs(35), Instant::now());
        assert_eq!(state.overdue_input(Instant::now()), None);
        assert_eq!(state.overdue_input(instant_after(5)), Some(Expiry::Head));
    }

    #[tokio::test(start_paused = true)]
    async fn reading_pauses_until_the_body_is_asked_for() {
        let state = Rc::new(ConnectionState::new(LIMITS));
        state.begin_request();
        assert!(!state.pause_reading(Waker::noop()));
        state.record_received(READ_AHEAD);
        assert!(state.pause_reading(Waker::noop()));
        let _reading = state.read_body();
        state.record_received(READ_AHEAD);
        assert!(!state.pause_reading(Waker::noop()));
    }
}
