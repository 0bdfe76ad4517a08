//! The byte stream of one connection, with the time limits of its client.
//!
//! The timers of the HTTP dispatcher above are switched off: they read a clock that stands still while the
//! thread is blocked, and they fire before the socket is read. The limits are kept here instead. A limit is
//! judged only after the socket was read until it is empty. The readiness that the poller reports is not
//! enough for that: it may be out of date after the process was stopped.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_rt::net::TcpStream;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::refusal;
use super::state::{ConnectionState, Expiry, ReturnedStream};
use super::timer::{LINGER, Timer};
use super::transfer_window::TransferWindow;

/// Bytes of a head that are read before it is looked at.
const HEAD_PASS: usize = 16 * 1024;
/// Bytes discarded before other connections of the thread get their turn.
const DISCARD_PASS: usize = 64 * 1024;

/// A connection as the HTTP dispatcher sees it.
pub(crate) struct HttpConnection {
    /// Taken only when dropped.
    io: Option<TcpStream>,
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
}

impl HttpConnection {
    pub(crate) fn new(io: TcpStream, state: Rc<ConnectionState>) -> Self {
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
        }
    }

    pub(crate) fn state(&self) -> &Rc<ConnectionState> {
        &self.state
    }

    fn io(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.io.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn raw(&self) -> io::Result<SockRef<'_>> {
        self.io.as_ref().map(SockRef::from).ok_or_else(|| io::ErrorKind::NotConnected.into())
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
        let read = (&*self.raw()?).read(buffer.initialize_unfilled());
        match read {
            Ok(count) => {
                buffer.advance(count);
                self.has_unjudged = true;
                self.state.record_received(count);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Poll::Ready(Err(error)),
            Err(_) if std::mem::take(&mut self.has_unjudged) => {
                // The read bytes may have completed the head or the body; the next poll shows it.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(_) => {
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

    /// Waits for the client to take output, as long as it may take.
    fn await_output(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let limits = *self.state.timeouts();
        let mut window = self.output.unwrap_or_else(|| TransferWindow::starting_at(Instant::now()));
        self.output = Some(window);
        while self.timer.has_fired(context) {
            let now = Instant::now();
            self.exclude_blocked_time(now);
            window = self.output.unwrap_or(window);
            if window.is_too_slow(now, &limits) {
                match (&*self.raw()?).write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.state.expire(Expiry::Answer);
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    written => {
                        self.output = Some(TransferWindow::starting_at(now));
                        return Poll::Ready(written);
                    }
                }
            }
            self.output = Some(window);
            self.timer.arm(window.ends_at(&limits).min(now + limits.shortest()));
        }
        Poll::Pending
    }

    fn write_now(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.io()?.poll_write(context, bytes) {
            Poll::Ready(Ok(count)) => {
                if let Some(output) = &mut self.output {
                    output.record(count);
                }
                self.state.record_sent();
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.await_output(context, bytes),
        }
    }

    /// Writes held output: the dispatcher went on, so that it was part of a response.
    fn write_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            let written = self.write_now(context, &held);
            self.held = held;
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
            match io.poll_read(context, &mut buffer) {
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
        match this.io()?.poll_read(context, buffer) {
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
            this.output = None;
            this.state.mark_flushed();
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
            // A connection that the client has reset is as good as closed.
            if this.raw()?.shutdown(Shutdown::Write).is_err() {
                return Poll::Ready(Ok(()));
            }
            this.timer.arm(Instant::now() + LINGER);
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
