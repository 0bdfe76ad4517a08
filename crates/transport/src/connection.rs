//! The byte stream of one connection, with the time limits of its client.
//!
//! The timers of the HTTP dispatcher above are switched off: they read a clock that does not move while the
//! thread is blocked, and they fire before the socket is read. The limits are kept here instead. A limit is
//! judged only after the socket was read until it is empty. The readiness that the poller reports is not
//! enough for that: it may be out of date after the process was stopped.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::refusal;
use super::state::{ConnectionState, Expiry, ReturnedStream};
use super::stream::ClientStream;
use super::timer::{LINGER, Timer};
use super::transfer_window::TransferWindow;

/// Bytes of a head that are read before it is looked at.
const HEAD_PASS: usize = 16 * 1024;
/// Bytes discarded before other connections of the thread get their turn.
const DISCARD_PASS: usize = 64 * 1024;

/// A connection as the HTTP dispatcher sees it.
pub(crate) struct HttpConnection {
    /// Taken only when dropped.
    io: Option<ClientStream>,
    state: Rc<ConnectionState>,
    timer: Timer,
    /// Bytes read since the socket was last empty.
    pass: usize,
    /// Input was handed up and not parsed yet: it may satisfy the limit.
    has_unjudged: bool,
    /// Measures output while the client does not take it.
    output: Option<TransferWindow>,
    /// Output that may be the dispatcher's own refusal, held until the dispatcher goes on or ends.
    held: Vec<u8>,
    is_closing: bool,
    /// The client knows that no more output comes.
    is_shut: bool,
}

impl HttpConnection {
    pub(super) fn new(io: ClientStream, state: Rc<ConnectionState>) -> Self {
        let timer = Timer::new(Instant::now() + state.timeouts().shortest());
        Self {
            io: Some(io),
            state,
            timer,
            pass: 0,
            has_unjudged: false,
            output: None,
            held: Vec::new(),
            is_closing: false,
            is_shut: false,
        }
    }

    pub(crate) fn state(&self) -> &Rc<ConnectionState> {
        &self.state
    }

    fn io(&mut self) -> io::Result<&mut ClientStream> {
        self.io.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Excludes the time that this thread was blocked, once the timer has fired.
    fn exclude_blocked_time(&mut self, now: Instant) {
        if let Some(missed) = self.timer.missed_time(now) {
            self.state.exclude_time(missed, now);
            if let Some(output) = &mut self.output {
                output.shift(missed, now);
            }
        }
    }

    /// Waits for input on an empty socket, as long as the client may take.
    fn await_input(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.state.must_end() {
            return self.judge_input(Expiry::Idle, context, buffer);
        }
        while self.timer.has_fired(context) {
            let now = Instant::now();
            self.exclude_blocked_time(now);
            if let Some(expiry) = self.state.overdue_input(now) {
                return self.judge_input(expiry, context, buffer);
            }
            let limits = self.state.timeouts();
            let output_end = self.output.map(|output| output.ends_at(limits));
            if output_end.is_some_and(|end| end <= now) {
                // Writing is tried next, and judged there.
                return Poll::Pending;
            }
            let deadlines = [self.state.input_deadline(), output_end];
            let next = deadlines.into_iter().flatten().fold(now + limits.shortest(), Instant::min);
            self.timer.arm(next);
        }
        Poll::Pending
    }

    /// Judges an expired limit: reads the socket directly, without asking the poller, and gives up if it is
    /// empty.
    fn judge_input(
        &mut self,
        expiry: Expiry,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match self.io()?.attempt_directly(|io| Pin::new(io).poll_read(context, buffer)) {
            Poll::Ready(Ok(())) => {
                self.has_unjudged = true;
                self.state.record_received(buffer.filled().len() - before);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if std::mem::take(&mut self.has_unjudged) => {
                // The read bytes may have completed the head or the body; the next poll shows it.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => {
                self.state.expire(expiry);
                match expiry {
                    Expiry::Head => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    // The end of input: a handler answers for its body, an idle connection is closed in
                    // order.
                    _ => Poll::Ready(Ok(())),
                }
            }
        }
    }

    /// Makes an attempt to write. While the client takes nothing it is waited for, as long as it may take.
    fn attempt_output<T>(
        &mut self,
        context: &mut Context<'_>,
        mut attempt: impl FnMut(Pin<&mut ClientStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = attempt(Pin::new(self.io()?), context);
        if self.record_sent()? > 0 {
            self.state.record_sent();
        }
        if written.is_ready() {
            return written;
        }
        let limits = *self.state.timeouts();
        let mut window = self.output.unwrap_or_else(|| TransferWindow::starting_at(Instant::now()));
        self.output = Some(window);
        while self.timer.has_fired(context) {
            let now = Instant::now();
            self.exclude_blocked_time(now);
            window = self.output.unwrap_or(window);
            if window.is_too_slow(now, &limits) {
                let written = self.io()?.attempt_directly(|io| attempt(Pin::new(io), context));
                if self.record_sent()? == 0 && written.is_pending() {
                    self.state.expire(Expiry::Answer);
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                window = TransferWindow::starting_at(now);
                self.output = Some(window);
                if written.is_ready() {
                    return written;
                }
            }
            self.output = Some(window);
            self.timer.arm(window.ends_at(&limits).min(now + limits.shortest()));
        }
        Poll::Pending
    }

    /// Counts the bytes that the system has taken, and returns their number.
    fn record_sent(&mut self) -> io::Result<usize> {
        let sent = self.io()?.take_sent();
        if let Some(output) = &mut self.output {
            output.record(sent);
        }
        Ok(sent)
    }

    fn write_now(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.attempt_output(context, |io, context| io.poll_write(context, bytes))
    }

    /// Writes held output: the dispatcher went on, so that it was part of a response.
    fn write_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let bytes = std::mem::take(&mut self.held);
            let written = self.write_now(context, &bytes);
            self.held = bytes;
            let count = ready!(written)?;
            self.held.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    /// Discards input until the client has closed its side.
    fn discard_input(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 4096];
        let mut discarded = 0;
        while discarded < DISCARD_PASS {
            let mut buffer = ReadBuf::new(&mut scratch);
            let Ok(io) = self.io() else { return Poll::Ready(()) };
            match Pin::new(io).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => discarded += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for HttpConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write_held(context))?;
        if this.state.pause_reading(context.waker()) {
            this.pass = 0;
            return Poll::Pending;
        }
        if this.pass >= HEAD_PASS && this.state.reads_head() {
            this.pass = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        match Pin::new(this.io()?).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let count = buffer.filled().len() - before;
                this.pass += count;
                if count > 0 {
                    this.has_unjudged = true;
                    this.state.record_received(count);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                this.pass = 0;
                this.await_input(context, buffer)
            }
        }
    }
}

impl AsyncWrite for HttpConnection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.write_held(context))?;
        let start = if this.state.may_refuse() { refusal::bare_refusal(bytes) } else { None };
        match start {
            Some(0) => {
                this.held = bytes.to_vec();
                Poll::Ready(Ok(bytes.len()))
            }
            Some(start) => this.write_now(context, &bytes[..start]),
            None => this.write_now(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.held.is_empty() {
            // Within TLS, written bytes may wait for the socket.
            ready!(this.attempt_output(context, |io, context| io.poll_flush(context)))?;
            this.output = None;
            this.state.mark_flushed(context.waker());
        } else {
            // Unless the dispatcher ends now, it is asked again and the held output goes out.
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write_held(context))?;
        if !this.is_closing {
            this.is_closing = true;
            this.timer.arm(Instant::now() + LINGER);
        }
        if !this.is_shut {
            match Pin::new(this.io()?).poll_shutdown(context) {
                Poll::Ready(Ok(())) => this.is_shut = true,
                // A connection that the client has reset is as good as closed.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(())),
                Poll::Pending if this.timer.has_fired(context) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
        if this.discard_input(context).is_ready() || this.timer.has_fired(context) {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        if let Some(stream) = self.io.take() {
            let owes_refusal = !self.held.is_empty() || self.state.expiry() == Some(Expiry::Head);
            self.state.hand_back(ReturnedStream { stream, owes_refusal });
        }
    }
}
