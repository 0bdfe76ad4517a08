//! Connections of a thread that is blocked by another request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use actix_rt::System;
use actix_server::Server;
use actix_web::{App, HttpResponse, web};
use svc_transport::bind;
use tokio::time::Instant;

use super::limits;
use crate::{Config, Options, Service};

const BLOCK: &[u8] = b"GET /block HTTP/1.1\r\nhost: x\r\n\r\n";
const OK: &[u8] = b"GET /ok HTTP/1.1\r\nhost: x\r\n\r\n";
/// Longer than every limit of the test's connections.
const BLOCKED: Duration = Duration::from_secs(3);

fn send(address: SocketAddr, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request).unwrap();
    stream
}

fn status_line(stream: &mut TcpStream) -> String {
    let mut answer = [0; 4096];
    let count = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..count]).lines().next().unwrap_or("closed").to_owned()
}

/// Sends requests while the only thread is blocked, and returns how each was answered.
fn send_while_blocked(address: SocketAddr, is_blocked: &mpsc::Receiver<()>) -> Vec<String> {
    let mut connection = send(address, OK);
    assert_eq!(status_line(&mut connection), "HTTP/1.1 200 OK");
    let mut begun = send(address, &OK[..10]);
    let mut blocker = send(address, BLOCK);
    is_blocked.recv().unwrap();
    connection.write_all(OK).unwrap();
    begun.write_all(&OK[10..]).unwrap();
    let mut fresh = send(address, OK);
    [&mut blocker, &mut connection, &mut begun, &mut fresh].map(status_line).to_vec()
}

#[test]
fn requests_during_a_blocked_thread_are_answered_later() {
    let directory = tempfile::tempdir().unwrap();
    System::new().block_on(async {
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
        (config.server.head_timeout_secs, config.server.keep_alive_secs) = (1, 1);
        let service = Service::start(config, Options::default()).await.unwrap();
        let transport = service.transport(limits::operations_listener_limits());
        let listener = bind("127.0.0.1:0", 16).unwrap();
        let address = listener.local_addr().unwrap();
        let (blocked, is_blocked) = mpsc::channel();
        let application = move || {
            let blocked = blocked.clone();
            let block = move || {
                blocked.send(()).unwrap();
                let started = Instant::now();
                while started.elapsed() < BLOCKED {
                    std::hint::spin_loop();
                }
                std::future::ready(HttpResponse::Ok().finish())
            };
            App::new()
                .route("/block", web::get().to(block))
                .route("/ok", web::get().to(async || HttpResponse::Ok().finish()))
        };
        let server = Server::build()
            .workers(1)
            .listen("test", listener, move || transport.clone().factory(application.clone()))
            .unwrap()
            .disable_signals()
            .run();
        let handle = server.handle();
        actix_rt::spawn(server);
        let answers = web::block(move || send_while_blocked(address, &is_blocked)).await.unwrap();
        assert_eq!(answers, ["HTTP/1.1 200 OK"; 4]);
        handle.stop(false).await;
        service.shutdown(Duration::from_secs(5)).await;
    });
}
