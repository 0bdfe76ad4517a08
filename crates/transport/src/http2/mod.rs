//! HTTP/2, within TLS: the requests of one connection, served side by side on the thread of the connection.
//!
//! Each request has the limits that it would have in HTTP/1.1: the size of its head, the time and the rate of
//! its body, the rate at which its response is read. A request that breaks one is reset, the others go on. A
//! client that makes frames for their cost alone loses its connection.

mod body;
mod budget;
mod exchange;
mod limits;
mod message;

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use actix_http::body::{BoxBody, MessageBody};
use actix_http::{Request, Response};
use actix_service::Service;
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};

use self::budget::{ExchangeEnd, HeadBudget, ResetBudget};
use self::exchange::exchange;
pub use self::limits::FIELD_BYTES;
pub(super) use self::limits::{Http2Client, Http2Limits};
use super::refusal::ConnectionRefusal;
use super::stream::ClientStream;
use super::timer::{LINGER, timeout};

/// The next step of a connection.
enum ConnectionEvent {
    Request(Box<(http::Request<RecvStream>, SendResponse<Bytes>)>),
    /// The last request in progress has ended.
    Idle,
    /// The client resets requests as fast as it makes them.
    ResetFlood,
    Closed(Option<h2::Error>),
}

/// Serves the requests of a connection until its end.
pub(super) async fn serve<S, B>(
    stream: ClientStream,
    service: &S,
    client: &Http2Client,
    limits: &Http2Limits<'_>,
) where
    S: Service<Request>,
    S::Error: Into<Response<BoxBody>>,
    S::Response: Into<Response<B>>,
    B: MessageBody,
{
    let Some(mut connection) = shake_hands(stream, limits).await else { return };
    let timeouts = &limits.timeouts;
    let heads = HeadBudget::default();
    let mut exchanges = FuturesUnordered::new();
    let mut budget = ResetBudget::default();
    // The time that an idle connection has: that of a head for the first request, of keep-alive for a later one.
    let mut patience = timeouts.head;
    let mut is_ending = false;
    // A client that has just connected gets its first request served, even from a service that drains already.
    let mut has_request = false;
    let mut drain = pin!(limits.delegate.wait_until_draining().fuse());
    loop {
        let is_idle = exchanges.is_empty();
        let next = poll_fn(|context| {
            // The requests come before the connection: polling it then writes what they have sent.
            if !end_exchanges(&mut exchanges, &mut connection, &mut budget, context) {
                return Poll::Ready(ConnectionEvent::ResetFlood);
            }
            if has_request && drain.as_mut().poll(context).is_ready() {
                connection.graceful_shutdown();
            }
            match connection.poll_accept(context) {
                Poll::Ready(Some(Ok(accepted))) => Poll::Ready(ConnectionEvent::Request(Box::new(accepted))),
                Poll::Ready(Some(Err(error))) => Poll::Ready(ConnectionEvent::Closed(Some(error))),
                Poll::Ready(None) => Poll::Ready(ConnectionEvent::Closed(None)),
                Poll::Pending if exchanges.is_empty() && !is_idle => Poll::Ready(ConnectionEvent::Idle),
                Poll::Pending => Poll::Pending,
            }
        });
        let event = if is_idle { timeout(patience, next).await } else { Some(next.await) };
        patience = if is_ending { LINGER } else { timeouts.keep_alive };
        match event {
            Some(ConnectionEvent::Request(accepted)) => {
                has_request = true;
                let (request, respond) = *accepted;
                exchanges.push(exchange::<S, B>(service, request, respond, client, (limits, &heads)));
            }
            Some(ConnectionEvent::Idle) => {}
            Some(ConnectionEvent::Closed(error)) => return report_end(error.as_ref(), limits),
            Some(ConnectionEvent::ResetFlood) => return end_flood(connection, limits).await,
            None if is_ending => return,
            // A request that is on its way is still served.
            None => {
                connection.graceful_shutdown();
                (is_ending, patience) = (true, LINGER);
            }
        }
    }
}

/// Begins HTTP/2 on a connection. Returns `None`, and reports the reason, if the client does not.
async fn shake_hands(
    stream: ClientStream,
    limits: &Http2Limits<'_>,
) -> Option<Connection<ClientStream, Bytes>> {
    match timeout(limits.timeouts.head, limits::settings().handshake::<_, Bytes>(stream)).await {
        Some(Ok(connection)) => return Some(connection),
        Some(Err(error)) => report_end(Some(&error), limits),
        None => (limits.report)(ConnectionRefusal::SlowHead),
    }
    None
}

/// Ends the exchanges that are over. Returns `false` if the client resets more of them than it may.
fn end_exchanges<F: Future<Output = ExchangeEnd>>(
    exchanges: &mut FuturesUnordered<F>,
    connection: &mut Connection<ClientStream, Bytes>,
    budget: &mut ResetBudget,
    context: &mut Context<'_>,
) -> bool {
    while let Poll::Ready(Some(end)) = exchanges.poll_next_unpin(context) {
        if end == ExchangeEnd::AnsweredLast {
            connection.graceful_shutdown();
        }
        if !budget.record(end) {
            return false;
        }
    }
    true
}

/// Notifies the client, as far as it listens, and ends the connection.
async fn end_flood(mut connection: Connection<ClientStream, Bytes>, limits: &Http2Limits<'_>) {
    (limits.report)(ConnectionRefusal::Http2Flood);
    connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
    // A client that does not end its side gets no more time.
    let _ = timeout(LINGER, poll_fn(|context| connection.poll_closed(context))).await;
}

/// Reports the end of a connection if the client broke the protocol.
fn report_end(error: Option<&h2::Error>, limits: &Http2Limits<'_>) {
    let reason = error.filter(|error| error.is_library()).and_then(h2::Error::reason);
    match reason {
        None | Some(Reason::NO_ERROR) => {}
        Some(Reason::ENHANCE_YOUR_CALM) => (limits.report)(ConnectionRefusal::Http2Flood),
        Some(_) => (limits.report)(ConnectionRefusal::MalformedHead),
    }
}
