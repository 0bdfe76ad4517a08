//! One request and its response.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::{ConnectionType, Request, Response};
use actix_service::Service;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::request::Parts;
use tokio::time::Instant;

use super::body::{self, SharedBody};
use super::budget::{ExchangeEnd, HeadBudget, HeldHead};
use super::limits::{FIELDS, HEAD, Http2Client, Http2Limits, SEND_BUFFER};
use super::message;
use crate::refusal::ConnectionRefusal;
use crate::timer::timeout;
use crate::transfer_window::{ConnectionTimeouts, TransferWindow};

/// Serves one request. Its handler is dropped when the client resets it.
pub(super) async fn exchange<S, B>(
    service: &S,
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    client: &Http2Client,
    (limits, heads): (&Http2Limits<'_>, &HeadBudget),
) -> ExchangeEnd
where
    S: Service<Request>,
    S::Error: Into<Response<BoxBody>>,
    S::Response: Into<Response<B>>,
    B: MessageBody,
{
    let (parts, body) = request.into_parts();
    let is_head = parts.method == http::Method::HEAD;
    let body = Rc::new(RefCell::new(body));
    let sent = if parts.headers.len() > FIELDS || message::head_size(&parts) > HEAD {
        drop(parts);
        match (limits.refuse)(ConnectionRefusal::HeadTooLarge) {
            Some(response) => send(response, &mut respond, is_head, limits).await,
            None => return ExchangeEnd::Answered,
        }
    } else {
        let Some(held) = heads.take(message::head_memory(&parts)) else {
            // Nothing of the request was looked at: its client may send it again (RFC 9113, 8.7).
            respond.send_reset(Reason::REFUSED_STREAM);
            (limits.report)(ConnectionRefusal::TooManyHeads);
            return ExchangeEnd::Answered;
        };
        answer::<S, B>(service, (parts, held), &body, &mut respond, (client, limits)).await
    };
    if matches!(sent, Ok(ExchangeEnd::Answered | ExchangeEnd::AnsweredLast)) && !body.borrow().is_end_stream()
    {
        body::discard(&body).await;
    }
    sent.unwrap_or_else(|refusal| {
        (limits.report)(refusal);
        ExchangeEnd::Answered
    })
}

/// Has the application answer a request, and sends its response.
///
/// # Errors
/// The client reads too slowly; the request has been reset.
async fn answer<S, B>(
    service: &S,
    (parts, held): (Parts, HeldHead),
    body: &SharedBody,
    respond: &mut SendResponse<Bytes>,
    (client, limits): (&Http2Client, &Http2Limits<'_>),
) -> Result<ExchangeEnd, ConnectionRefusal>
where
    S: Service<Request>,
    S::Error: Into<Response<BoxBody>>,
    S::Response: Into<Response<B>>,
    B: MessageBody,
{
    let slow_body = Rc::new(Cell::new(false));
    let is_head = parts.method == http::Method::HEAD;
    let payload = body::payload(body, limits.timeouts, Rc::clone(&slow_body));
    let mut call =
        pin!(service.call(message::request(&parts, payload, (client.address, client.tls.clone()))));
    drop(parts);
    let response = poll_fn(|context| {
        if respond.poll_reset(context).is_ready() {
            return Poll::Ready(None);
        }
        call.as_mut().poll(context).map(Some)
    });
    let response = response.await;
    // The handler has let go of the head.
    drop(held);
    let mut is_last = false;
    let sent = match response {
        Some(Ok(response)) => {
            let response: Response<B> = response.into();
            is_last = response.head().connection_type() == ConnectionType::Close;
            send(response, respond, is_head, limits).await
        }
        Some(Err(error)) => {
            let response: Response<BoxBody> = error.into();
            send(response, respond, is_head, limits).await
        }
        None => Ok(ExchangeEnd::Reset),
    };
    if slow_body.get() {
        (limits.report)(ConnectionRefusal::SlowBody);
    }
    match sent {
        Ok(ExchangeEnd::Answered) if is_last => Ok(ExchangeEnd::AnsweredLast),
        sent => sent,
    }
}

/// Sends a response, as fast as the client takes it.
///
/// # Errors
/// The client reads too slowly; the request has been reset.
async fn send<B: MessageBody>(
    response: Response<B>,
    respond: &mut SendResponse<Bytes>,
    is_head: bool,
    limits: &Http2Limits<'_>,
) -> Result<ExchangeEnd, ConnectionRefusal> {
    let (head, body) = message::response(response);
    let is_bodiless = is_head || matches!(body.size(), BodySize::None | BodySize::Sized(0));
    let Ok(mut stream) = respond.send_response(head, is_bodiless) else { return Ok(ExchangeEnd::Reset) };
    if is_bodiless {
        return Ok(ExchangeEnd::Answered);
    }
    let mut body = pin!(body);
    while let Some(chunk) = poll_fn(|context| body.as_mut().poll_next(context)).await {
        let Ok(chunk) = chunk else {
            stream.send_reset(Reason::INTERNAL_ERROR);
            return Ok(ExchangeEnd::Answered);
        };
        if send_chunk(chunk, &mut stream, &limits.timeouts).await? == ExchangeEnd::Reset {
            return Ok(ExchangeEnd::Reset);
        }
    }
    let ended = stream.send_data(Bytes::new(), true);
    Ok(if ended.is_ok() { ExchangeEnd::Answered } else { ExchangeEnd::Reset })
}

/// Sends one chunk, unless the client has reset the request.
async fn send_chunk(
    mut chunk: Bytes,
    stream: &mut SendStream<Bytes>,
    timeouts: &ConnectionTimeouts,
) -> Result<ExchangeEnd, ConnectionRefusal> {
    let mut window = TransferWindow::starting_at(Instant::now());
    while !chunk.is_empty() {
        stream.reserve_capacity(chunk.len().min(SEND_BUFFER));
        let remaining = window.ends_at(timeouts).saturating_duration_since(Instant::now());
        let capacity = timeout(remaining, poll_fn(|context| stream.poll_capacity(context))).await;
        match capacity {
            Some(Some(Ok(capacity))) => {
                let part = chunk.split_to(capacity.min(chunk.len()));
                window.record(part.len());
                if stream.send_data(part, false).is_err() {
                    return Ok(ExchangeEnd::Reset);
                }
            }
            Some(_) => return Ok(ExchangeEnd::Reset),
            None if window.is_too_slow(Instant::now(), timeouts) => {
                stream.send_reset(Reason::CANCEL);
                return Err(ConnectionRefusal::SlowReader);
            }
            None => {}
        }
    }
    Ok(ExchangeEnd::Answered)
}
