//! A proxy in front of PostgreSQL that loses the answer to a commit: it cuts the connection after the server has
//! committed and before the client learns of it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// The answer to a commit, as the protocol has it.
const COMMITTED: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
/// Bytes of earlier reads that are searched again for a text: longer than any.
const KEPT: usize = 4096;
/// Bytes of earlier reads that are searched again for the answer to a commit: too few for that of an earlier one.
const KEPT_OF_ANSWER: usize = COMMITTED.len() - 1;

/// A running proxy.
#[derive(Debug)]
pub struct CommitProxy {
    url: String,
    shared: Arc<ProxyShared>,
}

#[derive(Debug, Default)]
struct ProxyShared {
    /// The text that a transaction must send for the answer to its commit to be lost.
    text: Mutex<Option<String>>,
    lost: AtomicUsize,
    /// True if no connection is accepted after a lost answer.
    closes: AtomicBool,
    is_closed: AtomicBool,
}

impl CommitProxy {
    /// Starts a proxy in front of the database at `url`.
    ///
    /// # Errors
    /// The error of the listener, or a URL without user, host and database.
    pub fn start(url: &str) -> io::Result<Self> {
        let parts = url.rsplit_once('@').and_then(|(user, rest)| Some((user, rest.split_once('/')?)));
        let (user, (place, database)) = parts.ok_or_else(|| io::Error::other("not user@host/database"))?;
        let server: SocketAddr = place.parse().map_err(io::Error::other)?;
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let url = format!("{user}@{}/{database}", listener.local_addr()?);
        let shared = Arc::new(ProxyShared::default());
        let relay = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client that cannot be served sees its connection closed.
                let _ = relay.serve(client, server);
            }
        });
        Ok(Self { url, shared })
    }

    /// Returns the URL of the database through the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Loses the answer to the next commit on a connection that has sent `text` from now on.
    pub fn lose_commit_of(&self, text: &str) {
        *self.shared.text.lock() = Some(text.to_owned());
    }

    /// Does the same, and refuses every connection from then until [`open`](Self::open).
    pub fn lose_commit_and_close(&self, text: &str) {
        self.shared.closes.store(true, Ordering::SeqCst);
        self.lose_commit_of(text);
    }

    /// Accepts connections again.
    pub fn open(&self) {
        self.shared.closes.store(false, Ordering::SeqCst);
        self.shared.is_closed.store(false, Ordering::SeqCst);
    }

    /// Returns the number of lost answers.
    pub fn lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

impl ProxyShared {
    /// Relays one connection, on two threads.
    fn serve(self: &Arc<Self>, client: TcpStream, server: SocketAddr) -> io::Result<()> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let server = TcpStream::connect(server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let has_text = Arc::new(AtomicBool::new(false));
        let (sent, shared) = (Arc::clone(&has_text), Arc::clone(self));
        let ends = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || {
            relay(ends, KEPT, |recent| {
                if shared.text.lock().as_ref().is_some_and(|text| contains(recent, text.as_bytes())) {
                    sent.store(true, Ordering::SeqCst);
                }
                true
            })
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            relay((server, client), KEPT_OF_ANSWER, |recent| {
                if !has_text.load(Ordering::SeqCst) || !contains(recent, COMMITTED) {
                    return true;
                }
                *shared.text.lock() = None;
                shared.lost.fetch_add(1, Ordering::SeqCst);
                shared.is_closed.store(shared.closes.load(Ordering::SeqCst), Ordering::SeqCst);
                false
            })
        });
        Ok(())
    }
}

/// Copies from one end to the other until either is closed, or until `may_pass` refuses the latest bytes, which it sees
/// after those that are `kept` of earlier ones.
fn relay((mut from, mut to): (TcpStream, TcpStream), kept: usize, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let (mut buffer, mut recent) = ([0; 16 * 1024], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let read = buffer.get(..count).unwrap_or_default();
        recent.extend_from_slice(read);
        if !may_pass(&recent) || to.write_all(read).is_err() {
            break;
        }
        recent.drain(..recent.len().saturating_sub(kept));
    }
    // Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
