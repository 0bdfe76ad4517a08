//! A service with a real listener and access to its workers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::spawn_blocking;
use actix_rt::{Arbiter, ArbiterHandle, System};
use actix_supervision::Address;
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use parking_lot::Mutex;
use svc::{Config, FaultKind, Options, PlannedFault, Service, TreeExit};
use svc_channels::ChannelActor;
use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;
use tokio::runtime::Handle;

/// Threads that serve.
pub(crate) const WORKERS: usize = 2;

/// A running service, mounted into an application of its own.
pub(crate) struct RunningService {
    pub(crate) service: Service,
    threads: Arc<Mutex<Vec<ArbiterHandle>>>,
    server: ServerHandle,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

/// Runs a test against a service with the quickstart definitions loaded; then ends the service. The test has
/// a thread of its own, so it may block.
pub(crate) fn with_quickstart(
    faults: Vec<PlannedFault>,
    test: impl FnOnce(&RunningService) + Send + 'static,
) {
    with_service(Options { faults, ..Options::default() }, |running| {
        let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
        svc_testkit::example::load(&mut running.client(), &quickstart).unwrap();
        test(running);
    });
}

/// Runs a test like [`with_quickstart`], with nothing loaded.
pub(crate) fn with_service(options: Options, test: impl FnOnce(&RunningService) + Send + 'static) {
    System::new().block_on(async {
        let running = RunningService::start(options).await;
        let tested = spawn_blocking(move || {
            running.until_ready();
            test(&running);
            running
        });
        tested.await.unwrap().stop().await;
    });
}

/// Waits for a future on the thread of a test.
pub(crate) fn wait<T>(answer: impl Future<Output = T>) -> T {
    Handle::current().block_on(answer)
}

/// Waits for a state, which must be reached in time.
#[track_caller]
pub(crate) fn expect_soon(mut reached: impl FnMut() -> bool) {
    assert!(wait_until(Duration::from_secs(30), || Ok(reached())).unwrap(), "the state is reached");
}

/// A panic at each of these handlings of the message, in each actor of the path.
pub(crate) fn panics(path: &str, message: &str, times: std::ops::RangeInclusive<u64>) -> Vec<PlannedFault> {
    let fault =
        |nth| PlannedFault { path: path.into(), message: message.into(), nth, kind: FaultKind::Panic };
    times.map(fault).collect()
}

impl RunningService {
    async fn start(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
        config.metrics.enabled = true;
        let service = Service::start(config, options).await.unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (routes, threads) = (service.routes(), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&threads);
        let app = move || {
            seen.lock().push(Arbiter::current());
            App::new().configure(routes.clone())
        };
        let server = HttpServer::new(app).workers(WORKERS).disable_signals().listen(listener).unwrap().run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Self { service, threads, server: handle, address, _directory: directory }
    }

    fn until_ready(&self) {
        expect_soon(|| self.client().get("/readyz").is_ok_and(|answer| answer.status == 200));
        expect_soon(|| self.workers().len() == WORKERS);
    }

    /// The threads that serve.
    pub(crate) fn workers(&self) -> Vec<ArbiterHandle> {
        self.threads.lock().clone()
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::new(self.address)
    }

    /// The actor of a channel on one of the workers.
    pub(crate) fn actor(&self, channel: &str) -> Option<Address<ChannelActor>> {
        self.service.state().serving.registry.snapshot().channel_by_name(channel)?.actor(None).ok().cloned()
    }

    async fn stop(self) {
        assert_eq!(self.service.shutdown(Duration::from_secs(60)).await, TreeExit::Shutdown);
        self.server.stop(false).await;
    }
}
