//! Binding a listener.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use socket2::{Domain, Protocol, Socket, Type};

/// Listens on the first available address, with a backlog of `backlog` connections.
///
/// # Errors
/// No address can be listened on.
pub fn bind(addresses: impl ToSocketAddrs, backlog: i32) -> io::Result<TcpListener> {
    let mut refused = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for address in addresses.to_socket_addrs()? {
        match bind_one(address, backlog) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn bind_one(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart takes the port over from connections of the previous process that are still closing.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}
