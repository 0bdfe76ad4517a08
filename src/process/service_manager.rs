//! The service manager that started the process, and its notifications: sd_notify(3), as systemd has it.
//!
//! A notification is one datagram of lines `KEY=value` to the socket that `NOTIFY_SOCKET` names. Without that variable
//! nothing is sent. A notification that cannot be sent is logged and lost: nothing of the service depends on it.

use std::io;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use slog::{Logger, debug, warn};

/// The variable with the path of the socket, or with `@` and an abstract name.
const SOCKET: &str = "NOTIFY_SOCKET";
/// The variable with the microseconds within which the watchdog wants a sign of life.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// The variable with the id of the process that the watchdog is about.
const WATCHDOG_PROCESS: &str = "WATCHDOG_PID";
/// Time in which the manager takes a notification.
const SEND_LIMIT: Duration = Duration::from_secs(1);

/// A handle of the service manager; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ServiceManager(Option<Arc<NotifySocket>>);

#[derive(Debug)]
struct NotifySocket {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
    /// Set once the end was notified: the process is never ready again.
    is_stopping: AtomicBool,
    log: Logger,
}

impl ServiceManager {
    /// Finds the manager that the environment names. Logs a socket that cannot be used.
    pub(crate) fn find(environment: &[(String, String)], log: &Logger) -> Self {
        let variable = |wanted: &str| {
            let value = environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
            value.filter(|value| !value.is_empty())
        };
        let Some(name) = variable(SOCKET) else { return Self(None) };
        let is_own = variable(WATCHDOG_PROCESS)
            .is_none_or(|id| id.parse::<u32>().is_ok_and(|id| id == std::process::id()));
        let watchdog = variable(WATCHDOG).filter(|_| is_own).and_then(|micros| micros.parse::<u64>().ok());
        match open(name) {
            Ok((socket, address)) => Self(Some(Arc::new(NotifySocket {
                socket,
                address,
                watchdog: watchdog.filter(|micros| *micros > 0).map(Duration::from_micros),
                is_stopping: AtomicBool::new(false),
                log: log.clone(),
            }))),
            Err(error) => {
                warn!(log, "the service manager is not notified"; "socket" => name, "error" => %error);
                Self(None)
            }
        }
    }

    /// Notifies that the service serves, after its start or a reload.
    pub(crate) fn notify_ready(&self, status: &str) {
        if let Some(manager) = self.0.as_ref().filter(|manager| !manager.is_stopping()) {
            manager.send(&format!("READY=1\n{}", status_line(status)));
        }
    }

    /// Notifies that a reload begins; [`notify_ready`](Self::notify_ready) follows.
    pub(crate) fn notify_reloading(&self) {
        if let Some(manager) = self.0.as_ref().filter(|manager| !manager.is_stopping()) {
            let status = status_line("reloading");
            manager.send(&format!("RELOADING=1\nMONOTONIC_USEC={}\n{status}", monotonic_micros()));
        }
    }

    /// Notifies that the service ends, within a time if that is bounded.
    pub(crate) fn notify_stopping(&self, within: Option<Duration>, status: &str) {
        if let Some(manager) = &self.0 {
            manager.is_stopping.store(true, Ordering::Release);
            let extension = within.map(|within| format!("EXTEND_TIMEOUT_USEC={}\n", within.as_micros()));
            manager.send(&format!("STOPPING=1\n{}{}", extension.unwrap_or_default(), status_line(status)));
        }
    }

    /// Shows a text as the state of the service.
    pub(crate) fn notify_status(&self, status: &str) {
        if let Some(manager) = &self.0 {
            manager.send(&status_line(status));
        }
    }

    /// Gives the watchdog its sign of life.
    pub(crate) fn feed_watchdog(&self) {
        if let Some(manager) = &self.0 {
            manager.send("WATCHDOG=1\n");
        }
    }

    /// Returns the time within which the watchdog wants a sign of life; `None` if it wants none.
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.0.as_ref()?.watchdog
    }
}

impl NotifySocket {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    fn send(&self, message: &str) {
        if let Err(error) = self.socket.send_to_addr(message.as_bytes(), &self.address) {
            debug!(self.log, "a notification of the service manager is lost"; "error" => %error);
        }
    }
}

/// Opens a socket to send from, and reads the address to send to.
fn open(name: &str) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(name) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    // The threads that notify have other work.
    socket.set_write_timeout(Some(SEND_LIMIT))?;
    Ok((socket, address))
}

/// Returns the line of a status, which may have no line break in it.
fn status_line(status: &str) -> String {
    let text: String = status.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("STATUS={text}\n")
}

fn monotonic_micros() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

#[cfg(test)]
mod tests {
    use slog::{Discard, o};

    use super::*;

    fn log() -> Logger {
        Logger::root(Discard, o!())
    }

    fn environment(variables: &[(&str, String)]) -> Vec<(String, String)> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn receive(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn notifications_are_datagrams_of_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let manager =
            ServiceManager::find(&environment(&[("NOTIFY_SOCKET", path.display().to_string())]), &log());
        manager.notify_ready("serving\ntwo lines");
        assert_eq!(receive(&socket), "READY=1\nSTATUS=serving two lines\n");
        manager.notify_reloading();
        let reloading = receive(&socket);
        let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        let micros: i64 = micros.strip_suffix("\nSTATUS=reloading\n").unwrap().parse().unwrap();
        assert!(micros > 0 && micros <= monotonic_micros());
        manager.notify_stopping(Some(Duration::from_secs(3)), "draining");
        assert_eq!(receive(&socket), "STOPPING=1\nEXTEND_TIMEOUT_USEC=3000000\nSTATUS=draining\n");
        manager.notify_ready("again");
        manager.feed_watchdog();
        assert_eq!(receive(&socket), "WATCHDOG=1\n", "an ending service is not ready again");
    }

    #[test]
    fn abstract_socket_is_notified() {
        let name = format!("svc-notify-test-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let manager = ServiceManager::find(&environment(&[("NOTIFY_SOCKET", format!("@{name}"))]), &log());
        manager.notify_status("starting");
        assert_eq!(receive(&socket), "STATUS=starting\n");
    }

    #[test]
    fn watchdog_of_another_process_is_not_fed() {
        let own = std::process::id().to_string();
        for (process, expected) in [
            (None, Some(Duration::from_secs(2))),
            (Some(own), Some(Duration::from_secs(2))),
            (Some("1".to_owned()), None),
        ] {
            let mut variables =
                vec![("NOTIFY_SOCKET", "/nowhere".to_owned()), ("WATCHDOG_USEC", "2000000".to_owned())];
            variables.extend(process.map(|id| ("WATCHDOG_PID", id)));
            let manager = ServiceManager::find(&environment(&variables), &log());
            assert_eq!(manager.watchdog_interval(), expected);
        }
        assert_eq!(ServiceManager::find(&[], &log()).watchdog_interval(), None);
    }
}
