//! The body of a request, with the time limits of its client.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Waker};

use actix_http::Payload;
use actix_http::error::PayloadError;
use bytes::Bytes;
use futures_util::stream;
use h2::RecvStream;
use tokio::time::Instant;

use crate::timer::{LINGER, timeout};
use crate::transfer_window::{ConnectionTimeouts, TransferWindow};

/// A body that its handler reads, and the exchange after it.
pub(super) type SharedBody = Rc<RefCell<RecvStream>>;

/// A body that its handler reads.
struct StreamBody {
    stream: SharedBody,
    timeouts: ConnectionTimeouts,
    /// The first read and the current measuring period; `None` before the first read.
    reading: Option<(Instant, TransferWindow)>,
    /// Set once the client has exceeded a limit.
    is_slow: Rc<Cell<bool>>,
}

/// Makes the payload of a request. `is_slow` is set if it does not arrive in time.
pub(super) fn payload(stream: &SharedBody, timeouts: ConnectionTimeouts, is_slow: Rc<Cell<bool>>) -> Payload {
    if stream.borrow().is_end_stream() {
        return Payload::None;
    }
    let body = StreamBody { stream: Rc::clone(stream), timeouts, reading: None, is_slow };
    Payload::Stream { payload: Box::pin(stream::unfold(body, StreamBody::read)) }
}

/// Discards the rest of a body after its response, for a short time: to some clients a request that is reset
/// while they send has no response.
pub(super) async fn discard(stream: &SharedBody) {
    let rest = async {
        while let Some(Ok(chunk)) = poll_fn(|context| stream.borrow_mut().poll_data(context)).await {
            // Fails once the client has reset the request, which the next chunk tells.
            let _ = stream.borrow_mut().flow_control().release_capacity(chunk.len());
        }
    };
    // A client that goes on has had its time.
    let _ = timeout(LINGER, rest).await;
}

impl StreamBody {
    /// Takes the fields behind a body off the stream, as they would stay in memory there until the request is answered.
    fn drop_trailers(&self) {
        let mut stream = self.stream.borrow_mut();
        // They are there: the body has ended with them.
        let _ = stream.poll_trailers(&mut Context::from_waker(Waker::noop()));
    }

    /// Reads the next chunk; the client may send as much again.
    async fn read(mut self) -> Option<(Result<Bytes, PayloadError>, Self)> {
        let now = Instant::now();
        let (began, mut window) = self.reading.unwrap_or_else(|| (now, TransferWindow::starting_at(now)));
        if window.ends_at(&self.timeouts) <= now {
            // The handler has paused, not the client.
            window = TransferWindow::starting_at(now);
        }
        let end = began + self.timeouts.body;
        let next = loop {
            let remaining = window.ends_at(&self.timeouts).min(end).saturating_duration_since(Instant::now());
            let received =
                timeout(remaining, poll_fn(|context| self.stream.borrow_mut().poll_data(context))).await;
            let now = Instant::now();
            match received {
                Some(Some(next)) => break next,
                Some(None) => {
                    self.drop_trailers();
                    return None;
                }
                None if now >= end || window.is_too_slow(now, &self.timeouts) => {
                    self.is_slow.set(true);
                    let error = PayloadError::Incomplete(Some(io::ErrorKind::TimedOut.into()));
                    return Some((Err(error), self));
                }
                None => {}
            }
        };
        let chunk = next.and_then(|chunk| {
            window.record(chunk.len());
            self.stream.borrow_mut().flow_control().release_capacity(chunk.len())?;
            Ok(chunk)
        });
        self.reading = Some((began, window));
        Some((chunk.map_err(|error| PayloadError::Incomplete(Some(io::Error::other(error)))), self))
    }
}
