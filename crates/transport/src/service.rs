//! The life of a connection, from an accepted socket to its end.
//!
//! Its future lives as long as the connection. What most connections never do (a handshake, HTTP/2, a refusal) is boxed, so
//! that an idle connection does not hold the room for it.

use std::fmt;
use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::body::{BoxBody, MessageBody};
use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive, Request, Response};
use actix_rt::net::TcpStream;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, fn_factory, fn_service, map_config};

use super::admission::{ConnectionAdmission, ConnectionPermit};
use super::connection::HttpConnection;
use super::delegate::TransportDelegate;
use super::drainable::DrainableConnections;
use super::http2::{self, Http2Client, Http2Limits};
use super::refusal::{self, ConnectionRefusal};
use super::refusal_reporter::RefusalReporter;
use super::state::{ConnectionState, TlsPeer};
use super::stream::{ClientStream, Socket};
use super::timer::timeout;
use super::tls::{ClientCertificate, TlsProvider};
use super::transfer_window::ConnectionTimeouts;

/// Time from the beginning of a drain to the end of idle connections. A client that sends often learns within it, by the
/// response to its next request, that the connection ends: it would lose a request that it sends meanwhile.
const IDLE_GRACE: Duration = Duration::from_secs(1);

/// The transport of one listener, shared by its threads.
#[derive(Clone)]
pub struct Transport {
    /// The time limits of its connections.
    pub timeouts: ConnectionTimeouts,
    /// The bounds on its connections.
    pub admission: Arc<ConnectionAdmission>,
    /// Bounds the refused connections that still get an answer.
    pub refusals: Arc<ConnectionAdmission>,
    /// Counts and logs the connections that are refused.
    pub reports: Arc<RefusalReporter>,
    /// The certificate of a listener within TLS; `None` for plain text.
    pub certificates: Option<Arc<dyn TlsProvider>>,
    /// The service that answers.
    pub delegate: Arc<dyn TransportDelegate>,
}

impl Transport {
    /// Makes the service of one thread: it serves the application on every socket it is given.
    pub fn factory<I, S, B, C>(
        self,
        application: impl Fn() -> I + Clone + 'static,
    ) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = (), InitError = ()>
    where
        I: IntoServiceFactory<S, Request>,
        S: ServiceFactory<Request, Config = C> + 'static,
        S::Error: Into<Response<BoxBody>> + 'static,
        S::InitError: fmt::Debug,
        S::Response: Into<Response<B>> + 'static,
        <S::Service as Service<Request>>::Future: 'static,
        B: MessageBody + 'static,
        C: Default + 'static,
    {
        fn_factory(move || {
            let (transport, application) = (self.clone(), application.clone());
            async move {
                let factory = map_config(application().into_factory(), |()| C::default());
                // Its own log tells why an application cannot be built.
                let application =
                    Rc::new(ServiceFactory::<Request>::new_service(&factory, ()).await.map_err(drop)?);
                let shared = Rc::clone(&application);
                let http = HttpService::build()
                    // The connection keeps these limits itself.
                    .keep_alive(KeepAlive::Os)
                    .client_request_timeout(Duration::ZERO)
                    .client_disconnect_timeout(Duration::ZERO)
                    .on_connect_ext(|connection: &HttpConnection, data| {
                        data.insert(Rc::clone(connection.state()));
                    })
                    .h1(fn_factory(move || ready(Ok::<_, ()>(Rc::clone(&shared)))));
                let http = Rc::new(http.new_service(()).await?);
                let connections = transport.drainable_connections();
                Ok::<_, ()>(fn_service(move |stream: TcpStream| {
                    let (transport, http) = (transport.clone(), Rc::clone(&http));
                    let (application, connections) = (Rc::clone(&application), Rc::clone(&connections));
                    async move {
                        let Some((stream, permit)) = transport.admit(stream).await else { return Ok(()) };
                        let services = (&*http, &*application);
                        transport.serve::<_, _, B>(services, stream, permit, &connections).await;
                        Ok::<_, ()>(())
                    }
                }))
            }
        })
    }

    /// Makes the list of the connections of this thread. Those that are idle a moment after the service began to drain end.
    fn drainable_connections(&self) -> Rc<DrainableConnections> {
        let connections = Rc::new(DrainableConnections::default());
        let (delegate, idle) = (Arc::clone(&self.delegate), Rc::clone(&connections));
        actix_rt::spawn(async move {
            delegate.wait_until_draining().await;
            actix_rt::time::sleep(IDLE_GRACE).await;
            idle.end_idle();
        });
        connections
    }

    /// Admits a connection, or refuses it with a response.
    async fn admit(&self, stream: TcpStream) -> Option<(TcpStream, ConnectionPermit)> {
        // A closed connection has no peer.
        let peer = stream.peer_addr().ok()?.ip();
        // Responses are written whole: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        match self.admission.admit(peer) {
            Ok(permit) => Some((stream, permit)),
            Err(refusal) => {
                self.reports.record(refusal, Some(peer));
                if self.certificates.is_some() {
                    // No handshake is worth a refusal.
                    return None;
                }
                let permit = self.refusals.admit(peer).ok()?;
                self.refuse(refusal, ClientStream::Plain(Socket::new(stream))).await;
                drop(permit);
                None
            }
        }
    }

    async fn serve<H, S, B>(
        &self,
        (http, application): (&H, &S),
        stream: TcpStream,
        permit: ConnectionPermit,
        connections: &Rc<DrainableConnections>,
    ) where
        H: Service<(HttpConnection, Option<SocketAddr>), Response = (), Error = DispatchError>,
        S: Service<Request>,
        S::Error: Into<Response<BoxBody>>,
        S::Response: Into<Response<B>>,
        B: MessageBody,
    {
        let peer = stream.peer_addr().ok();
        let open = self.reports.metrics().open();
        let (stream, tls) = match &self.certificates {
            None => (ClientStream::Plain(Socket::new(stream)), None),
            Some(certificates) => {
                let secured = Box::pin(self.secure(certificates, stream, peer.map(|peer| peer.ip()))).await;
                let Some((stream, tls)) = secured else { return };
                (stream, Some(tls))
            }
        };
        if let (Some(tls), true) = (&tls, stream.is_http2()) {
            let report =
                |refusal: ConnectionRefusal| self.reports.record(refusal, peer.map(|peer| peer.ip()));
            let refuse = |refusal: ConnectionRefusal| {
                report(refusal);
                self.delegate.refuse(refusal, true).map(refusal::response)
            };
            let limits = Http2Limits {
                timeouts: self.timeouts,
                report: &report,
                refuse: &refuse,
                delegate: &*self.delegate,
            };
            let client = Http2Client { address: peer, tls: tls.clone() };
            Box::pin(http2::serve::<S, B>(stream, application, &client, &limits)).await;
            return;
        }
        let state = Rc::new(match tls {
            None => ConnectionState::new(self.timeouts),
            Some(tls) => ConnectionState::within_tls(self.timeouts, tls),
        });
        let entry = connections.add(&state);
        let connection = HttpConnection::new(stream, Rc::clone(&state));
        let ended = http.call((connection, peer)).await;
        drop((entry, open));
        self.report_end(&state, ended.as_ref().err(), peer.map(|peer| peer.ip())).await;
        drop(permit);
    }

    /// Completes the handshake; `None` if it failed, which is reported.
    async fn secure(
        &self,
        certificates: &Arc<dyn TlsProvider>,
        stream: TcpStream,
        peer: Option<IpAddr>,
    ) -> Option<(ClientStream, TlsPeer)> {
        let accepting = certificates.acceptor().accept(Socket::expecting_tls(stream)).into_fallible();
        let Some(accepted) = timeout(self.timeouts.head, accepting).await else {
            self.reports.record(ConnectionRefusal::SlowHandshake, peer);
            return None;
        };
        match accepted {
            Ok(stream) => {
                let chain = stream.get_ref().1.peer_certificates();
                let certificate = chain.map(|chain| ClientCertificate::new(chain, Arc::clone(certificates)));
                Some((ClientStream::Tls(Box::new(stream)), TlsPeer::new(certificate)))
            }
            Err((error, socket)) => {
                let refusal = ConnectionRefusal::from_handshake(&error)?;
                self.reports.record(refusal, peer);
                let stream = ClientStream::Plain(socket);
                match refusal {
                    // The client gets to read the alert.
                    ConnectionRefusal::FailedHandshake => refusal::deliver(stream, &[]).await,
                    _ => self.refuse(refusal, stream).await,
                }
                None
            }
        }
    }

    /// Reports a connection that the service ended, and responds if no handler has.
    async fn report_end(&self, state: &ConnectionState, error: Option<&DispatchError>, peer: Option<IpAddr>) {
        let stream = state.take_stream();
        let Some(refusal) = ConnectionRefusal::from_end(state.expiry(), error) else { return };
        self.reports.record(refusal, peer);
        if let Some(returned) = stream.filter(|returned| returned.owes_refusal) {
            self.refuse(refusal, returned.stream).await;
        }
    }

    async fn refuse(&self, refusal: ConnectionRefusal, stream: ClientStream) {
        let is_tls = matches!(stream, ClientStream::Tls(_));
        let Some(response) = self.delegate.refuse(refusal, is_tls) else { return };
        Box::pin(refusal::deliver(stream, &response.encode())).await;
    }
}
