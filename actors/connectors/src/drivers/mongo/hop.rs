//! The local hop of a client: a SOCKS5 proxy inside this process that every connection of the driver goes
//! through.
//!
//! The driver resolves names and finds servers by itself, and names are resolved again at every connection.
//! So it is given a proxy and resolves nothing: each host it wants, of the connection string, of an SRV
//! record or named by a server, is resolved and checked here, and the address that was checked is dialled.
//! TLS is between driver and server, for the name of the server.
//!
//! Owns a listener on a loopback port and one task a connection; all of them end with the hop. No client but the
//! driver is let through: the credentials of the proxy are random and never leave the process.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use mongodb::options::Socks5Proxy;
use parking_lot::Mutex;
use svc_outbound::{AddressError, Outbound};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// The version of SOCKS (RFC 1928).
const VERSION: u8 = 5;
/// Authentication by user name and password (RFC 1929), and the version of its exchange.
const USER_AND_PASSWORD: u8 = 2;
const AUTH_VERSION: u8 = 1;
/// The reply that no offered authentication is accepted.
const NO_METHOD: u8 = 0xff;
/// The command `CONNECT`.
const CONNECT: u8 = 1;
/// Replies of the proxy.
const SUCCEEDED: u8 = 0;
const NOT_ALLOWED: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;
const NOT_SUPPORTED: u8 = 7;
/// Kinds of addresses.
const IPV4: u8 = 1;
const DOMAIN: u8 = 3;
const IPV6: u8 = 4;
/// Random bytes in the user name and in the password.
const ENTROPY: usize = 16;
/// Pause after a connection could not be accepted: descriptors may be exhausted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The hop of one client; ends when it is dropped, with every connection through it.
pub(super) struct Hop {
    proxy: Socks5Proxy,
    refused: Arc<Mutex<Option<AddressError>>>,
    listening: JoinHandle<()>,
}

/// State shared by the connections of a hop.
struct Shared {
    outbound: Outbound,
    allow_private: bool,
    /// Time limit of the handshake with the driver and of the connection.
    limit: Duration,
    user: String,
    password: String,
    refused: Arc<Mutex<Option<AddressError>>>,
}

impl Hop {
    /// Listens on a loopback port. Each connection has `limit` to be made.
    ///
    /// # Errors
    /// No port or no random number is available.
    pub(super) async fn open(outbound: Outbound, allow_private: bool, limit: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (user, password) = (random()?, random()?);
        let proxy = Socks5Proxy::builder()
            .host(Ipv4Addr::LOCALHOST.to_string())
            .port(port)
            .authentication((user.clone(), password.clone()))
            .build();
        let refused = Arc::<Mutex<_>>::default();
        let shared = Shared { outbound, allow_private, limit, user, password, refused: Arc::clone(&refused) };
        let listening = Handle::current().spawn(listen(listener, Arc::new(shared)));
        Ok(Self { proxy, refused, listening })
    }

    /// The proxy as the driver takes it.
    pub(super) fn proxy(&self) -> Socks5Proxy {
        self.proxy.clone()
    }

    /// Returns the first address that was refused to the driver, with the reason.
    pub(super) fn refused_address(&self) -> Option<AddressError> {
        self.refused.lock().clone()
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn random() -> io::Result<String> {
    let mut bytes = [0; ENTROPY];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex::encode(bytes))
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    // The tasks end with this one.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let shared = Arc::clone(&shared);
                    connections.spawn(async move {
                        // The driver is told by the reply, or by the end of the connection.
                        let _ended = relay(client, &shared).await;
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn relay(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    let connected = timeout(shared.limit, connect(&mut client, shared)).await;
    let Some(mut server) = connected.map_err(|_| io::ErrorKind::TimedOut)?? else { return Ok(()) };
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Does the handshake with the driver and dials its target; `None` if the target was refused.
async fn connect(client: &mut TcpStream, shared: &Shared) -> io::Result<Option<TcpStream>> {
    if !authenticate(client, shared).await? {
        return Ok(None);
    }
    let Some((host, port)) = target(client).await? else {
        reply(client, NOT_SUPPORTED).await?;
        return Ok(None);
    };
    let addresses = match shared.outbound.addresses(&host, port, shared.allow_private).await {
        Ok(addresses) => addresses,
        Err(error @ AddressError::Unresolved { .. }) => {
            drop(error);
            reply(client, HOST_UNREACHABLE).await?;
            return Ok(None);
        }
        Err(error) => {
            shared.refused.lock().get_or_insert(error);
            reply(client, NOT_ALLOWED).await?;
            return Ok(None);
        }
    };
    match TcpStream::connect(addresses.as_slice()).await {
        Ok(server) => {
            server.set_nodelay(true)?;
            reply(client, SUCCEEDED).await?;
            Ok(Some(server))
        }
        Err(_) => {
            reply(client, HOST_UNREACHABLE).await?;
            Ok(None)
        }
    }
}

/// Authenticates the driver; `false` for any other client.
async fn authenticate(client: &mut TcpStream, shared: &Shared) -> io::Result<bool> {
    if client.read_u8().await? != VERSION {
        return Ok(false);
    }
    let methods = short_bytes(client).await?;
    if !methods.contains(&USER_AND_PASSWORD) {
        client.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(false);
    }
    client.write_all(&[VERSION, USER_AND_PASSWORD]).await?;
    if client.read_u8().await? != AUTH_VERSION {
        return Ok(false);
    }
    let (user, password) = (short_bytes(client).await?, short_bytes(client).await?);
    let is_authenticated = user == shared.user.as_bytes() && password == shared.password.as_bytes();
    client.write_all(&[AUTH_VERSION, u8::from(!is_authenticated)]).await?;
    Ok(is_authenticated)
}

/// Reads host and port of a request; `None` for a request that is no `CONNECT`.
async fn target(client: &mut TcpStream) -> io::Result<Option<(String, u16)>> {
    let [version, command, _, kind] = client.read_u32().await?.to_be_bytes();
    let host = match kind {
        IPV4 => Ipv4Addr::from(client.read_u32().await?).to_string(),
        IPV6 => Ipv6Addr::from(client.read_u128().await?).to_string(),
        DOMAIN => String::from_utf8(short_bytes(client).await?).map_err(io::Error::other)?,
        _ => return Ok(None),
    };
    let port = client.read_u16().await?;
    Ok((version == VERSION && command == CONNECT).then_some((host, port)))
}

/// Reads bytes that are preceded by their number.
async fn short_bytes(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Answers a request without the address that was dialled.
async fn reply(client: &mut TcpStream, code: u8) -> io::Result<()> {
    client.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}

#[cfg(test)]
mod tests;
