//! The signs of life for the watchdog of the service manager.
//!
//! A thread of its own asks the supervision tree and feeds the watchdog while the supervisor and every essential actor
//! answer. An actor that waits answers, so that a database that is away restarts nothing; neither does a blocked worker
//! thread, on which no essential actor runs. A supervisor that has stopped does: nothing would be restarted any more.

use std::io;
use std::thread;
use std::time::Duration;

use actix_supervision::{NodePath, Tree};
use slog::{Logger, error, info};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::process::service_manager::ServiceManager;

/// Signs of life within the time of the watchdog, if every question is answered at once.
const BEATS: u32 = 4;

/// Feeds the watchdog until it is dropped.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    _stop: oneshot::Sender<()>,
}

impl Heartbeat {
    /// Starts to feed the watchdog; `None` if the service manager wants no sign of life.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub(crate) fn start(manager: &ServiceManager, tree: Tree, log: Logger) -> io::Result<Option<Self>> {
        let Some(interval) = manager.watchdog_interval() else { return Ok(None) };
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let manager = manager.clone();
        let beat = async move {
            tokio::select! {
                // Either the message or the end of the owner.
                _ = stopped => {}
                () = feed(&manager, &tree, interval / BEATS, &log) => {}
            }
        };
        thread::Builder::new().name("svc-heartbeat".to_owned()).spawn(move || runtime.block_on(beat))?;
        Ok(Some(Self { _stop: stop }))
    }
}

/// Feeds the watchdog without end, once in each period.
async fn feed(manager: &ServiceManager, tree: &Tree, period: Duration, log: &Logger) {
    let mut was_silent = false;
    loop {
        let unresponsive = beat(manager, tree, period).await;
        let is_silent = !unresponsive.is_empty();
        if is_silent && !was_silent {
            let parts = unresponsive.iter().map(name).collect::<Vec<_>>().join(", ");
            error!(log, "the watchdog is not fed: essential parts do not answer"; "parts" => parts);
        } else if was_silent && !is_silent {
            info!(log, "the watchdog is fed again");
        }
        was_silent = is_silent;
        sleep(period).await;
    }
}

/// Feeds the watchdog if every essential part answers within `limit`; returns the parts that do not.
async fn beat(manager: &ServiceManager, tree: &Tree, limit: Duration) -> Vec<NodePath> {
    let unresponsive = tree.find_unresponsive(limit).await;
    if unresponsive.is_empty() {
        manager.feed_watchdog();
    }
    unresponsive
}

fn name(path: &NodePath) -> &str {
    if path.as_str().is_empty() { "supervisor" } else { path.as_str() }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::net::UnixDatagram;
    use std::sync::mpsc;

    use actix_rt::System;
    use actix_supervision::Placement;
    use slog::{Discard, o};

    use super::*;
    use crate::process::io_runtime::IoRuntime;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A service manager that wants a sign of life, and the socket that receives it.
    fn start_manager(directory: &std::path::Path) -> (ServiceManager, UnixDatagram) {
        let path = directory.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let variables =
            [("NOTIFY_SOCKET", path.display().to_string()), ("WATCHDOG_USEC", "40000".to_owned())];
        let environment = variables.map(|(name, value)| (name.to_owned(), value));
        (ServiceManager::find(&environment, &Logger::root(Discard, o!())), socket)
    }

    fn receive(socket: &UnixDatagram) -> io::Result<String> {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    #[test]
    fn watchdog_is_fed_until_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let (manager, socket) = start_manager(directory.path());
        System::new().block_on(async {
            let io = IoRuntime::start().unwrap();
            let tree = Tree::builder("test").supervisor(io.start_arbiter().unwrap()).build();
            let log = Logger::root(Discard, o!());
            let heartbeat = Heartbeat::start(&manager, tree, log).unwrap().unwrap();
            for _ in 0..3 {
                assert_eq!(receive(&socket).unwrap(), "WATCHDOG=1\n");
            }
            drop(heartbeat);
        });
    }

    #[test]
    fn stopped_supervisor_ends_the_feeding() {
        let directory = tempfile::tempdir().unwrap();
        let (manager, socket) = start_manager(directory.path());
        System::new().block_on(async {
            let io = IoRuntime::start().unwrap();
            let at = io.start_arbiter().unwrap();
            let tree = Tree::builder("test").supervisor(at.clone()).build();
            assert!(beat(&manager, &tree, LIMIT).await.is_empty());
            assert_eq!(receive(&socket).unwrap(), "WATCHDOG=1\n");
            let Placement::On(supervisor) = at else { panic!("it has a thread of its own") };
            let (resume, stopped) = mpsc::channel::<()>();
            let (begun, is_stopped) = mpsc::channel();
            supervisor.spawn_fn(move || {
                begun.send(()).unwrap();
                let _ = stopped.recv();
            });
            is_stopped.recv().unwrap();
            let unresponsive = beat(&manager, &tree, Duration::from_millis(20)).await;
            assert_eq!(unresponsive.iter().map(name).collect::<Vec<_>>(), ["supervisor"]);
            socket.set_nonblocking(true).unwrap();
            assert_eq!(receive(&socket).unwrap_err().kind(), ErrorKind::WouldBlock);
            drop(resume);
            assert!(beat(&manager, &tree, LIMIT).await.is_empty());
            assert_eq!(receive(&socket).unwrap(), "WATCHDOG=1\n");
        });
    }

    #[test]
    fn no_thread_starts_without_watchdog() {
        System::new().block_on(async {
            let log = Logger::root(Discard, o!());
            let manager = ServiceManager::find(&[], &log);
            let tree = Tree::builder("test").build();
            assert!(Heartbeat::start(&manager, tree, log).unwrap().is_none());
        });
    }
}
