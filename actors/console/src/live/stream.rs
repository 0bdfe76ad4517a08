//! The events of one viewer.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc::Receiver;

/// The events of one viewer, as the bytes of a response. It ends when the server ends it, or with the process. Dropping it
/// frees the place of the viewer.
#[derive(Debug)]
pub struct LiveStream {
    /// What comes before the events of the sampler.
    first: VecDeque<Bytes>,
    events: Option<Receiver<Bytes>>,
}

impl LiveStream {
    /// Makes a stream of these events, and then those of the sampler.
    pub(super) fn new(first: VecDeque<Bytes>, events: Option<Receiver<Bytes>>) -> Self {
        Self { first, events }
    }
}

impl Stream for LiveStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.first.pop_front() {
            return Poll::Ready(Some(event));
        }
        match &mut self.events {
            Some(events) => events.poll_recv(cx),
            None => Poll::Ready(None),
        }
    }
}
