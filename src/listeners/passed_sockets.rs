//! The listening sockets that a service manager opened and passed to the process: socket activation, sd_listen_fds(3).
//!
//! The manager keeps them open while the process is replaced, so that a client that connects meanwhile waits and is not
//! refused.

use std::fmt;
use std::net::TcpListener;

use listenfd::ListenFd;
#[cfg(target_os = "linux")]
use socket2::SockRef;

/// The variable with the names of the sockets, in their order, separated by colons.
const NAMES: &str = "LISTEN_FDNAMES";
/// The name of the socket of the listener for operators (`FileDescriptorName=` of its unit).
const METRICS: &str = "metrics";

/// The sockets of the listeners, to be used in place of those that the configuration names.
#[derive(Default)]
pub struct PassedSockets {
    /// Those of the main listener; it binds its own if there is none.
    pub main: Vec<TcpListener>,
    /// That of the listener for operators (`metrics.bind_addr`).
    pub metrics: Option<TcpListener>,
}

/// Shows the addresses.
impl fmt::Debug for PassedSockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |listener: &TcpListener| listener.local_addr().ok();
        f.debug_struct("PassedSockets")
            .field("main", &self.main.iter().map(address).collect::<Vec<_>>())
            .field("metrics", &self.metrics.as_ref().map(address))
            .finish()
    }
}

impl PassedSockets {
    /// Takes the sockets that were passed to this process (`LISTEN_FDS`, `LISTEN_PID`). The one of the name `metrics` is
    /// that of the listener for operators, every other one of the main listener. Call it once, before other threads run:
    /// the variables are removed from the environment of the process.
    ///
    /// # Errors
    /// A passed descriptor that is no listening TCP socket, or a second one of the name `metrics`.
    pub fn take(environment: &[(String, String)]) -> Result<Self, String> {
        let names = environment.iter().find(|(name, _)| name == NAMES).map(|(_, value)| value.as_str());
        let mut names = names.into_iter().flat_map(|names| names.split(':'));
        let (mut passed, mut sockets) = (ListenFd::from_env(), Self::default());
        for index in 0..passed.len() {
            let name = names.next().unwrap_or_default();
            let refused = |why: String| format!("the passed socket {} ({name:?}) {why}", index + 1);
            let listener = passed
                .take_tcp_listener(index)
                .map_err(|error| refused(format!("cannot be listened on: {error}")))?
                .ok_or_else(|| refused("is used already".to_owned()))?;
            sockets.add(name, listener).map_err(|why| refused(why.to_owned()))?;
        }
        Ok(sockets)
    }

    fn add(&mut self, name: &str, listener: TcpListener) -> Result<(), &'static str> {
        #[cfg(target_os = "linux")]
        if !SockRef::from(&listener).is_listener().unwrap_or(false) {
            return Err("does not listen; its unit needs ListenStream= and Accept=no");
        }
        if name != METRICS {
            self.main.push(listener);
        } else if self.metrics.replace(listener).is_some() {
            return Err("is the second one of that name");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn socket_goes_to_listener_by_name() {
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut sockets = PassedSockets::default();
        for name in ["svc.socket", "metrics", "", "http"] {
            sockets.add(name, bind()).unwrap();
        }
        assert_eq!((sockets.main.len(), sockets.metrics.is_some()), (3, true));
        assert!(sockets.add("metrics", bind()).unwrap_err().contains("second"));
    }

    #[test]
    fn socket_that_does_not_listen_is_refused() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let refused = PassedSockets::default().add("http", socket.into()).unwrap_err();
        assert!(refused.contains("does not listen"), "{refused}");
    }
}
