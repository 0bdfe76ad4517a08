//! An address that leads to one server and later to another, as a virtual address or the name of a service does at a
//! failover.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// A running gateway; it ends with the process. Connections stay with the server that they were made to.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    shared: Arc<GatewayShared>,
}

#[derive(Debug)]
struct GatewayShared {
    server: Mutex<SocketAddr>,
    connections: AtomicUsize,
}

impl Gateway {
    /// Starts on a free loopback port, in front of a server.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(GatewayShared { server: Mutex::new(server), connections: AtomicUsize::new(0) });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                let server = *accepting.server.lock();
                // A client that cannot be served sees its connection closed.
                let _ = forward(client, server);
            }
        });
        Ok(Self { address, shared })
    }

    /// Returns the address of the gateway.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new connections to another server.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.shared.server.lock() = server;
    }

    /// Returns the number of connections so far.
    pub fn connection_count(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

/// Forwards one connection, on two threads.
fn forward(client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ways = [(client.try_clone()?, server.try_clone()?), (server, client)];
    for (mut from, mut to) in ways {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            // The other way ends as well.
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
