//! Tests of the middleware.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::io;
use std::sync::{Arc, Mutex};

use actix_rt::System;
use actix_web::test::{TestRequest, init_service, try_call_service};
use actix_web::{App, body, http::header};
use slog::{Drain, Logger, o};

use super::*;
use crate::{Config, Options, Service as Running};

/// The output of a logger.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn recorder() -> (Logger, Written) {
    let written = Written::default();
    let json = slog_json::Json::default(written.clone());
    (Logger::root(Mutex::new(json).fuse(), o!()), written)
}

async fn boom() -> HttpResponse {
    panic!("planned")
}

#[test]
fn data_plane_panic_is_counted_by_path() {
    let directory = tempfile::tempdir().unwrap();
    System::new().block_on(async {
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
        let log = Logger::root(slog::Discard, o!());
        let service = Running::start(config, Options { log, ..Options::default() }).await.unwrap();
        let edge = Edge::for_clients(service.state().clone(), MountPoint::of_pattern(""));
        let app = init_service(App::new().route("/api/v1/data/boom", web::get().to(boom)).wrap(edge)).await;
        let request = TestRequest::get().uri("/api/v1/data/boom").to_request();
        try_call_service(&app, request).await.unwrap_err();
        let unknown = TestRequest::get().uri("/api/v1/data/unknown").to_request();
        try_call_service(&app, unknown).await.unwrap();
        let metrics = service.state().metrics.render().unwrap();
        let counts = metrics.lines().filter(|line| line.starts_with("svc_http_requests_total{"));
        let paths: Vec<_> = counts.map(|line| line.contains("path=\"/api/v1/data/{path}\"")).collect();
        assert_eq!(paths, [true, true], "{metrics}");
        service.shutdown(std::time::Duration::from_secs(5)).await;
    });
}

#[test]
fn handler_panic_is_a_complete_500_answer() {
    let directory = tempfile::tempdir().unwrap();
    System::new().block_on(async {
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
        let (log, written) = recorder();
        let service = Running::start(config, Options { log, ..Options::default() }).await.unwrap();
        let edge = Edge::for_clients(service.state().clone(), MountPoint::of_pattern(""));
        let app = init_service(App::new().route("/boom", web::get().to(boom)).wrap(edge)).await;
        let request = TestRequest::get().uri("/boom").insert_header((X_REQUEST_ID, "mine")).to_request();
        let answer = try_call_service(&app, request).await.unwrap_err().error_response();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.headers().get(X_REQUEST_ID).unwrap(), "mine");
        assert_eq!(answer.headers().get(header::X_FRAME_OPTIONS).unwrap(), "DENY");
        let bytes = body::to_bytes(answer.into_body()).await.ok().unwrap();
        let envelope: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(envelope["error"]["message"], "Internal server error");
        assert_eq!(service.state().process.lifecycle.in_flight(), 0);
        let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let line = written.lines().find(|line| line.contains("request failed")).unwrap();
        assert!(line.contains("planned") && line.contains("\"mine\""), "{line}");
        service.shutdown(std::time::Duration::from_secs(5)).await;
    });
}
