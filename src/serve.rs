//! The service as a daemon: listeners, signals, shutdown.
//!
//! The shutdown has four steps:
//! - `/readyz` reports not ready. For `server.shutdown_drain_secs` everything is still accepted, so that a
//!   load balancer has time to notice. A `SIGINT` typed at a terminal skips this time.
//! - Nothing new is accepted; connections that the kernel has accepted are still served.
//! - Requests and runs in progress have `server.shutdown_force_timeout_secs` to end.
//! - The tree ends.
//!
//! The process ends within two seconds after that time, whatever is in flight: a watchdog ends it by force. A
//! second signal ends the process at once; the first one after a drain that an operator ordered changes nothing.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_rt::task::JoinHandle;
use actix_server::Server;
use actix_supervision::TreeExit;
use actix_web::dev::ServerHandle;
use actix_web::{App, web};
use slog::{Logger, error, info, warn};
use svc_model::{AuditAction, AuditResource};
use svc_store::{AuditEntry, AuditReceipt};
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::Config;
use crate::error::ServiceStartError;
use crate::listeners::limits;
use crate::listeners::listener_shutdown::ListenerShutdown;
use crate::listeners::operations::Operations;
use crate::options::Options;
use crate::process::descriptors;
use crate::process::heartbeat::Heartbeat;
use crate::process::service_manager::ServiceManager;
use crate::process::watchdog::Watchdog;
use crate::service::Service;
use crate::shutdown::UNBOUNDED;
use crate::signals::{Signal, Signals};
use crate::state::AppState;

/// Time after the shutdown deadline at which the process is ended by force. The rest of two seconds is for
/// the log.
const FORCED_EXIT: Duration = Duration::from_millis(1_750);
/// Time that the service manager gives the process beyond that.
const LAST_SECONDS: Duration = Duration::from_secs(5);
/// Time between two looks if a thread serves.
const SERVING_POLL: Duration = Duration::from_millis(10);
/// Time for the listeners to end; their threads may be blocked.
const LISTENERS: Duration = Duration::from_millis(200);

/// The way in which a running service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeOutcome {
    /// Drained after a signal.
    Drained,
    /// A second signal cut the drain short.
    Aborted,
    /// An essential part failed for good.
    Failed,
}

/// Runs a service on its own listeners until a signal, or a failure, ends it. `force_exit` is called on a
/// thread of its own if the shutdown misses its deadline; it must end the process, whatever hangs.
///
/// # Errors
/// The reason for which the service did not start.
pub async fn serve(
    config: Config,
    options: Options,
    force_exit: impl FnOnce() + Send + 'static,
) -> Result<ServeOutcome, ServiceStartError> {
    serve_with(config, options, force_exit, |_, _| ()).await
}

/// Does the work of [`serve`]. Once the listener is bound, `start_companion` is called with its address; what it
/// returns is dropped when the service has ended.
pub(crate) async fn serve_with<C>(
    config: Config,
    mut options: Options,
    force_exit: impl FnOnce() + Send + 'static,
    start_companion: impl FnOnce(&Service, SocketAddr) -> C,
) -> Result<ServeOutcome, ServiceStartError> {
    let mut signals =
        Signals::install().map_err(ServiceStartError::system("cannot install signal handlers"))?;
    let log = options.log.clone();
    let sockets = std::mem::take(&mut options.sockets);
    let manager = ServiceManager::find(&options.environment, &log);
    manager.notify_status("starting");
    let descriptors = descriptors::raise_open_file_limit();
    let service = tokio::select! {
        started = Service::start(config.clone(), options) => started?,
        // Nothing serves yet: there is nothing to drain.
        () = signals.terminate() => return Ok(ServeOutcome::Drained),
    };
    let operations = listen_for_operations(&service, sockets.metrics)?;
    let (listeners, listener_shutdown) = open_listeners(&config, sockets.main)?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>();
    let addresses = addresses.map_err(ServiceStartError::system("the listener has no address"))?;
    let server = build_server(&service, listeners, descriptors)?;
    let handle = server.handle();
    let running = actix_rt::spawn(server);
    for address in &addresses {
        info!(log, "listening"; "host" => address.ip().to_string(), "port" => address.port(),
            "tls" => config.server.tls.enabled);
    }
    let _companion = addresses.first().map(|address| start_companion(&service, *address));
    let _heartbeat = Heartbeat::start(&manager, service.state().tree.clone(), log.clone())
        .map_err(ServiceStartError::system("cannot start the thread of the heartbeat"))?;

    let mut watchdog = Watchdog::new(force_exit);
    let ended = tokio::select! {
        ending = run_until_end(&service, &mut signals, &listener_shutdown, &handle, &mut watchdog, &manager) => {
            Ok(ending)
        }
        failure = apply_packages(&service) => Err(failure),
    };
    if matches!(ended, Ok(ServeOutcome::Aborted)) {
        return ended;
    }
    if ended.is_err() {
        let outcome =
            drain_unserved(&service, &mut signals, &listener_shutdown, &handle, &mut watchdog, &manager);
        if outcome.await == ServeOutcome::Aborted {
            return ended;
        }
    }
    watchdog.arm(FORCED_EXIT, &log);
    if timeout(LISTENERS, stop_listeners(&handle, running, operations)).await.is_err() {
        warn!(log, "a thread of the listeners is blocked");
    }
    log_end(&ended, &log);
    ended
}

/// Logs the end, or the failure that ended the service, as a text.
fn log_end(ended: &Result<ServeOutcome, ServiceStartError>, log: &Logger) {
    match ended {
        Ok(outcome) => info!(log, "ended"; "ending" => ?outcome),
        Err(failure) => error!(log, "ended"; "reason" => %failure),
    }
}

/// Applies the packages of the settings, and returns the failure. Pends once they serve, or the service drains.
async fn apply_packages(service: &Service) -> ServiceStartError {
    let applied = tokio::select! {
        biased;
        () = service.wait_until_draining() => Ok(()),
        applied = service.apply_packages() => applied,
    };
    match applied {
        Ok(()) => pending().await,
        Err(failure) => failure,
    }
}

/// Drains a node whose packages do not serve.
async fn drain_unserved(
    service: &Service,
    signals: &mut Signals,
    listener_shutdown: &ListenerShutdown,
    server: &ServerHandle,
    watchdog: &mut Watchdog,
    manager: &ServiceManager,
) -> ServeOutcome {
    let (config, log) = (&service.state().config, &service.state().log);
    warn!(log, "draining, because the packages do not serve");
    let force = force_timeout(config).map(|force| force.saturating_add(FORCED_EXIT));
    manager
        .notify_stopping(force.map(|force| force.saturating_add(LAST_SECONDS)), "the packages do not serve");
    if let Some(force) = force {
        watchdog.arm(force, log);
    }
    // The first one is that of the supervisor, which ends this node as it ends any other.
    let second_signal = async {
        signals.terminate().await;
        signals.terminate().await;
    };
    tokio::select! {
        () = drain(service, listener_shutdown, server, Duration::ZERO) => ServeOutcome::Drained,
        () = second_signal => {
            warn!(log, "second signal: ending at once");
            ServeOutcome::Aborted
        }
    }
}

/// Returns the time for the end of requests and runs; `None` if it is not bounded.
fn force_timeout(config: &Config) -> Option<Duration> {
    let seconds = config.server.shutdown_force_timeout_secs;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// Ends the service: reports not ready, accepts for a while, and gives what runs its time.
async fn drain(
    service: &Service,
    listener_shutdown: &ListenerShutdown,
    server: &ServerHandle,
    accepting_for: Duration,
) {
    service.drain();
    tokio::time::sleep(accepting_for).await;
    // The deadline counts from here.
    let limit = force_timeout(&service.state().config).unwrap_or(UNBOUNDED).min(UNBOUNDED);
    let deadline = Instant::now() + limit;
    // A thread that does not accept any more is not waited for.
    let _closed = timeout_at(deadline, listener_shutdown.close(server)).await;
    service.shutdown(deadline.saturating_duration_since(Instant::now())).await;
}

/// Starts the listener for operators: on the passed socket, or the one that the configuration names.
fn listen_for_operations(
    service: &Service,
    passed: Option<TcpListener>,
) -> Result<Option<Operations>, ServiceStartError> {
    match (passed, service.state().config.metrics.bind_addr.as_deref()) {
        (Some(socket), Some(_)) => service.serve_operations(socket).map(Some),
        (None, Some(address)) => service.listen_for_operations(address).map(Some),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ServiceStartError::Config(
            "a socket of the name \"metrics\" was passed, and there is no listener for it: set metrics.bind_addr"
                .to_owned(),
        )),
    }
}

/// Returns the sockets of the main listener, and the way in which it ends: those that were passed, or else a socket of its
/// own.
fn open_listeners(
    config: &Config,
    passed: Vec<TcpListener>,
) -> Result<(Vec<TcpListener>, ListenerShutdown), ServiceStartError> {
    if !passed.is_empty() {
        refuse_open_admin(config, &passed)?;
        return Ok((passed, ListenerShutdown::of_passed_sockets()));
    }
    let listener = bind(config)?;
    let shutdown =
        ListenerShutdown::new(&listener).map_err(ServiceStartError::system("cannot share the listener"))?;
    Ok((vec![listener], shutdown))
}

/// Refuses sockets that would open an admin API without keys to other machines, where the settings have the service
/// listen on loopback alone.
fn refuse_open_admin(config: &Config, passed: &[TcpListener]) -> Result<(), ServiceStartError> {
    if config.admin_auth.enabled || !config.listens_on_loopback() {
        return Ok(());
    }
    let mut addresses = passed.iter().filter_map(|listener| listener.local_addr().ok());
    match addresses.find(|address| !address.ip().to_canonical().is_loopback()) {
        None => Ok(()),
        Some(address) => Err(ServiceStartError::Config(format!(
            "the passed socket {address} is open to other machines, and the admin API asks for no key: set \
             admin_auth.enabled = true, or server.host = \"{}\" to open it to everybody",
            address.ip()
        ))),
    }
}

/// Builds the server of the main listener, under a limit of open files.
fn build_server(
    service: &Service,
    listeners: Vec<TcpListener>,
    descriptors: usize,
) -> Result<Server, ServiceStartError> {
    let (routes, state) = (service.mount(), service.state());
    let limits = limits::main_listener_limits(&state.config, &state.edge.proxies, descriptors, &state.log);
    let transport = service.main_transport(limits);
    let application = move || App::new().configure(routes.clone());
    let mut server = Server::build();
    for listener in listeners {
        let (transport, application) = (transport.clone(), application.clone());
        server = server
            .listen("svc", listener, move || transport.clone().factory(application.clone()))
            .map_err(ServiceStartError::system("cannot serve the listener"))?;
    }
    // Bounded by the transport, which tells clients.
    Ok(server.max_concurrent_connections(usize::MAX).disable_signals().run())
}

/// Waits until a thread of the listeners serves, which is a moment after they accept.
async fn wait_until_serving(state: &AppState) {
    while !state.is_initialized() {
        tokio::time::sleep(SERVING_POLL).await;
    }
}

/// Describes a service that serves, for the service manager.
fn describe_serving(state: &AppState) -> String {
    let snapshot = state.serving.registry.snapshot();
    format!("serving {} channels, {} quarantined", snapshot.channels_count(), snapshot.quarantined_count())
}

/// Binds the main listener.
fn bind(config: &Config) -> Result<TcpListener, ServiceStartError> {
    let address = (config.listen_host(), config.server.port);
    svc_transport::bind(address, limits::backlog(config))
        .map_err(ServiceStartError::system(format!("cannot listen on {}", config.listen_address())))
}

/// Stops the threads of the listeners.
async fn stop_listeners(
    handle: &ServerHandle,
    running: JoinHandle<io::Result<()>>,
    operations: Option<Operations>,
) {
    handle.stop(false).await;
    let _ = running.await;
    if let Some(operations) = operations {
        operations.stop().await;
    }
}

/// Follows signals and the tree until the service has ended.
async fn run_until_end(
    service: &Service,
    signals: &mut Signals,
    listener_shutdown: &ListenerShutdown,
    server: &ServerHandle,
    watchdog: &mut Watchdog,
    manager: &ServiceManager,
) -> ServeOutcome {
    let (config, log) = (&service.state().config, &service.state().log);
    let (mut is_signalled, mut is_ready) = (true, false);
    let accepting_for = loop {
        tokio::select! {
            exit = service.wait_until_ended() => {
                manager.notify_stopping(None, "an essential part failed for good");
                return log_failure(&exit, log);
            }
            () = wait_until_serving(service.state()), if !is_ready => {
                is_ready = true;
                manager.notify_ready(&describe_serving(service.state()));
            }
            signal = signals.next() => match signal {
                Signal::Terminate => break Duration::from_secs(config.server.shutdown_drain_secs),
                Signal::Interrupt => break Duration::ZERO,
                Signal::Reload => reload_on_signal(service.state().clone(), manager.clone()),
            },
            // An operator ordered it.
            () = service.state().process.lifecycle.wait_until_draining() => {
                is_signalled = false;
                break Duration::from_secs(config.server.shutdown_drain_secs);
            }
        }
    };
    info!(log, "draining"; "accepting_for_secs" => accepting_for.as_secs());
    let deadline =
        force_timeout(config).map(|force| accepting_for.saturating_add(force).saturating_add(FORCED_EXIT));
    manager.notify_stopping(deadline.map(|deadline| deadline.saturating_add(LAST_SECONDS)), "draining");
    if let Some(deadline) = deadline {
        watchdog.arm(deadline, log);
    }
    let second_signal = async {
        if !is_signalled {
            // That of the supervisor, which ends a node that was drained before as it ends any other.
            signals.terminate().await;
            info!(log, "the signal to terminate finds the node draining");
        }
        signals.terminate().await;
    };
    tokio::select! {
        () = drain(service, listener_shutdown, server, accepting_for) => ServeOutcome::Drained,
        () = second_signal => {
            warn!(log, "second signal: ending at once");
            ServeOutcome::Aborted
        }
    }
}

fn log_failure(exit: &TreeExit, log: &Logger) -> ServeOutcome {
    error!(log, "an essential part failed for good"; "exit" => ?exit);
    ServeOutcome::Failed
}

/// Reloads on `SIGHUP`: the certificate of the listeners, the settings, and the definitions, like
/// `POST /engine/reload`, with an audit row.
fn reload_on_signal(state: web::Data<AppState>, manager: ServiceManager) {
    actix_rt::spawn(async move {
        manager.notify_reloading();
        if let Some(certificates) = &state.process.certificates {
            certificates.reload();
        }
        let entry = AuditEntry {
            principal: "signal".to_owned(),
            action: AuditAction::Reload.name().to_owned(),
            resource_type: AuditResource::Engine.name().to_owned(),
            resource_id: "manual".to_owned(),
            details: None,
            receipt: AuditReceipt::default(),
        };
        match state.reload_by_order(entry).await {
            Ok((report, _)) => {
                info!(state.log, "reloaded by signal"; "workflows" => report.workflows_count);
            }
            Err(error) => error!(state.log, "reload by signal failed"; "detail" => %error),
        }
        // A failed reload leaves what was served before.
        manager.notify_ready(&describe_serving(&state));
    });
}
