//! The listener for operators' probes, on a thread and a runtime of its own.
//!
//! It serves `/health`, `/healthz`, `/readyz` and `/metrics` and nothing else, from levels and atomics, so that it
//! answers while every worker thread hangs. It asks for no credential to connect; details still need one.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;

use actix_rt::System;
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};

use crate::http;
use crate::state::AppState;

/// A running listener.
#[derive(Debug)]
pub struct Operations {
    address: SocketAddr,
    server: ServerHandle,
}

impl Operations {
    /// Binds `host:port` and starts to serve.
    pub(crate) fn listen(state: web::Data<AppState>, address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (started, handle) = mpsc::channel();
        let body = move || System::new().block_on(serve(state, listener, started));
        thread::Builder::new().name("svc-operations".to_owned()).spawn(body)?;
        let server = handle.recv().map_err(|_| io::Error::other("its thread ended"))??;
        Ok(Self { address, server })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops serving and ends its thread.
    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

async fn serve(
    state: web::Data<AppState>,
    listener: TcpListener,
    started: mpsc::Sender<io::Result<ServerHandle>>,
) {
    let app = move || {
        let state = state.clone();
        App::new().configure(move |cfg| http::configure_operations(cfg, &state))
    };
    match HttpServer::new(app).workers(1).disable_signals().listen(listener).map(HttpServer::run) {
        Ok(server) => {
            // The receiver waits for exactly this message.
            let _ = started.send(Ok(server.handle()));
            let _ = server.await;
        }
        Err(error) => drop(started.send(Err(error))),
    }
}
