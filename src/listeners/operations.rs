//! The listener for operators' probes, on a thread and a runtime of its own.
//!
//! It serves `/health`, `/healthz`, `/readyz` and `/metrics` and nothing else, from levels and atomics, so
//! that it answers while every worker thread hangs, and holds descriptors in reserve, so that it answers when
//! all others are used up. It asks for no credential to connect; details still need one.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use actix_rt::System;
use actix_rt::net::TcpStream;
use actix_service::{Service, ServiceFactory};
use actix_web::{App, web};
use svc_transport::{Transport, bind};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::process::descriptors::{DescriptorReserve, Exhaustion};
use crate::routes;
use crate::state::AppState;

/// Connections waiting to be accepted.
const BACKLOG: i32 = 128;
/// Descriptors set aside for connections of operators.
const RESERVE: usize = 8;
/// Pause before the next attempt after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);

/// A running listener.
#[derive(Debug)]
pub struct Operations {
    address: SocketAddr,
    stop: watch::Sender<bool>,
}

impl Operations {
    /// Binds `host:port` and starts to serve.
    pub(crate) fn listen(
        state: web::Data<AppState>,
        transport: Transport,
        address: &str,
    ) -> io::Result<Self> {
        Self::accept_from(state, transport, bind(address, BACKLOG)?)
    }

    /// Starts to serve the connections of a socket.
    pub(crate) fn accept_from(
        state: web::Data<AppState>,
        transport: Transport,
        listener: TcpListener,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (started, result) = mpsc::channel();
        let (stop, stopped) = watch::channel(false);
        let body = move || System::new().block_on(serve(state, transport, listener, started, stopped));
        thread::Builder::new().name("svc-operations".to_owned()).spawn(body)?;
        result.recv().map_err(|_| io::Error::other("its thread ended"))??;
        Ok(Self { address, stop })
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops serving and ends its thread.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.stop.closed().await;
    }
}

async fn serve(
    state: web::Data<AppState>,
    transport: Transport,
    listener: TcpListener,
    started: mpsc::Sender<io::Result<()>>,
    mut stopped: watch::Receiver<bool>,
) {
    let application = move || {
        let state = state.clone();
        App::new().configure(move |cfg| routes::configure_operations(cfg, &state))
    };
    let service = transport.factory(application).new_service(()).await;
    let listener = actix_rt::net::TcpListener::from_std(listener);
    let (listener, service) = match (listener, service) {
        (Ok(listener), Ok(service)) => (listener, service),
        (listener, _) => {
            let refused = listener.err().unwrap_or_else(|| io::Error::other("its routes were refused"));
            return drop(started.send(Err(refused)));
        }
    };
    // The receiver waits for this message.
    let _ = started.send(Ok(()));
    tokio::select! {
        () = accept(&listener, service) => {}
        // An error means that the handle is gone, with nobody left to stop the listener: it serves on.
        () = async { if stopped.wait_for(|stopped| *stopped).await.is_err() { std::future::pending().await } } => {}
    }
}

/// Accepts without end.
async fn accept<S>(listener: &actix_rt::net::TcpListener, service: S)
where
    S: Service<TcpStream, Response = (), Error = ()>,
    S::Future: 'static,
{
    let reserve = Rc::new(RefCell::new(DescriptorReserve::new(RESERVE)));
    loop {
        // The system asks for a descriptor before it looks for a connection. Once there is none to accept,
        // what was given up for the question is taken back.
        let accepted = poll_fn(|context| {
            let accepted = listener.poll_accept(context);
            if accepted.is_pending() {
                reserve.borrow_mut().refill();
            }
            accepted
        });
        match accepted.await {
            Ok((stream, _)) => {
                let (served, reserve) = (service.call(stream), Rc::clone(&reserve));
                actix_rt::spawn(async move {
                    // The service reports the end of a connection.
                    let _ = served.await;
                    reserve.borrow_mut().refill();
                });
            }
            Err(error) if Exhaustion::from_error(&error).is_some() => {
                if !reserve.borrow_mut().release_one() {
                    sleep(PAUSE).await;
                }
            }
            // The client has gone away meanwhile.
            Err(_) => reserve.borrow_mut().refill(),
        }
    }
}
