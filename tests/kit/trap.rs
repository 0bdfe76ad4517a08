//! A listener that counts forbidden connections.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

/// Ports tried before giving up.
const ATTEMPTS: usize = 100;

/// A listener on the same port of both loopback addresses. It accepts only to count; until then the kernel
/// queues connections.
#[derive(Debug)]
pub struct Trap {
    listeners: [TcpListener; 2],
    port: u16,
}

impl Trap {
    /// Binds a free port on both addresses.
    ///
    /// # Errors
    /// No port is free on both addresses.
    pub fn bind() -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = v4.local_addr()?.port();
            let Ok(v6) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)) else { continue };
            let listeners = [v4, v6];
            listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
            return Ok(Self { listeners, port });
        }
        Err(io::Error::other("no port is free on both loopback addresses"))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepts and counts the connections since the last call.
    pub fn take_connection_count(&self) -> usize {
        let come = |listener: &TcpListener| std::iter::from_fn(|| listener.accept().ok()).count();
        self.listeners.iter().map(come).sum()
    }
}
