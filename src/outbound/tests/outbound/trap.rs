//! A listener nobody may reach.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

/// The same port on both loopback addresses. Nobody accepts: the kernel keeps whoever comes until they are counted.
pub(crate) struct Trap {
    listeners: Vec<TcpListener>,
    pub(crate) port: u16,
}

impl Trap {
    pub(crate) fn set() -> Self {
        for _ in 0..100 {
            let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = v4.local_addr().unwrap().port();
            let Ok(v6) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)) else { continue };
            let listeners = vec![v4, v6];
            listeners.iter().for_each(|listener| listener.set_nonblocking(true).unwrap());
            return Self { listeners, port };
        }
        panic!("no port is free on both loopback addresses");
    }

    /// How many came since the last count.
    pub(crate) fn count(&self) -> usize {
        self.listeners.iter().map(come).sum()
    }
}

fn come(listener: &TcpListener) -> usize {
    let mut count = 0;
    loop {
        match listener.accept() {
            Ok(_) => count += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
            Err(error) => panic!("{error}"),
        }
    }
}
