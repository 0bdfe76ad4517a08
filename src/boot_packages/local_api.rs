//! The admin API for the process itself: its handlers answer without a connection and without a key.

use std::net::{Ipv4Addr, SocketAddr};

use actix_http::Request;
use actix_service::{IntoServiceFactory, Service, ServiceFactory};
use actix_web::body::to_bytes;
use actix_web::dev::{AppConfig, Payload, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{App, HttpResponse, web};
use svc_toolkit::{LocalAnswer, LocalRequest, LocalResponse, LocalServer};
use tokio::sync::{mpsc, oneshot};

use crate::http::Principal;
use crate::routes;
use crate::state::AppState;

/// Number of requests that may wait. A caller sends one after the other.
const WAITING: usize = 8;

/// A request, and the caller that waits for its response.
#[derive(Debug)]
pub(super) struct PendingRequest {
    request: LocalRequest,
    answer: oneshot::Sender<Result<LocalResponse, String>>,
}

/// The way to the admin API. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LocalApi {
    requests: mpsc::Sender<PendingRequest>,
}

impl LocalApi {
    /// Makes the way, and its other end, which [`serve`] takes.
    pub(super) fn new() -> (Self, mpsc::Receiver<PendingRequest>) {
        let (requests, received) = mpsc::channel(WAITING);
        (Self { requests }, received)
    }
}

impl LocalServer for LocalApi {
    fn answer(&self, request: LocalRequest) -> LocalAnswer {
        let requests = self.requests.clone();
        Box::pin(async move {
            let ended = || "the admin API of this process has ended".to_owned();
            let (answer, response) = oneshot::channel();
            requests.send(PendingRequest { request, answer }).await.map_err(|_| ended())?;
            response.await.map_err(|_| ended())?
        })
    }
}

/// Answers requests until no sender is left. `author` is their author in the audit log.
pub(super) async fn serve(
    state: &web::Data<AppState>,
    author: &Principal,
    mut requests: mpsc::Receiver<PendingRequest>,
) {
    let application = App::new().configure(|cfg| routes::configure_local(cfg, state, author));
    // Its own log tells why an application cannot be built.
    let Ok(service) = build(application).await else { return };
    while let Some(PendingRequest { request, answer }) = requests.recv().await {
        let response = respond(&service, request).await;
        // The caller may have stopped waiting.
        let _ = answer.send(response);
    }
}

/// Makes the service of an application.
async fn build<R, S>(application: R) -> Result<S::Service, S::InitError>
where
    R: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig, Response = ServiceResponse, Error = actix_web::Error>,
{
    application.into_factory().new_service(AppConfig::default()).await
}

async fn respond<S>(service: &S, request: LocalRequest) -> Result<LocalResponse, String>
where
    S: Service<Request, Response = ServiceResponse, Error = actix_web::Error>,
{
    let response: HttpResponse = match service.call(to_http_request(request)).await {
        Ok(response) => response.into_parts().1,
        Err(error) => error.error_response(),
    };
    let status = response.status().as_u16();
    let headers = response.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    let body = to_bytes(response.into_body()).await.map_err(|error| error.to_string())?;
    Ok(LocalResponse { status, headers, body })
}

fn to_http_request(request: LocalRequest) -> Request {
    let mut made: Request = Request::with_payload(Payload::from(request.body));
    let head = made.head_mut();
    head.method = Method::from_bytes(request.method.as_bytes()).unwrap_or_default();
    head.uri = request.target.parse().unwrap_or_default();
    head.peer_addr = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            head.headers.append(name, value);
        }
    }
    made
}
