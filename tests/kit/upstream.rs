//! An HTTP server whose responses a test decides, with one closure for all requests; plain, or over TLS.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tls::IssuedCertificate;

#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The number of the connection, counted from 0.
    pub connection: usize,
}

impl ReceivedRequest {
    /// Returns the first value of a header, by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The reaction of the server to a request.
#[derive(Clone, Debug)]
pub enum UpstreamReply {
    /// A complete response with a content length.
    Answer {
        /// The status code.
        status: u16,
        /// Headers other than the length.
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Raw bytes, then the end of the connection.
    Raw(Vec<u8>),
    /// Silence until the gate is opened, then 200 with an empty object.
    Held,
    /// The end of the connection.
    Cut,
}

impl UpstreamReply {
    /// Returns a response of a status and a body.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self::Answer { status, headers: Vec::new(), body: body.into().into_bytes() }
    }

    /// Returns a redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        let headers = vec![("location".to_owned(), location.to_owned())];
        Self::Answer { status, headers, body: Vec::new() }
    }
}

type Decide = Box<dyn Fn(&ReceivedRequest) -> UpstreamReply + Send + Sync>;

/// A running HTTP server; it ends when dropped.
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    decide: Decide,
    /// The settings of TLS, if the server speaks it.
    tls: Option<Arc<ServerConfig>>,
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    requests: Vec<ReceivedRequest>,
    connections: usize,
    opened: bool,
    ended: bool,
}

impl Upstream {
    /// Starts on a free loopback port.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(
        decide: impl Fn(&ReceivedRequest) -> UpstreamReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, None, Box::new(decide))
    }

    /// Starts on a free loopback port, over TLS with this certificate.
    ///
    /// # Errors
    /// No port is free, or the certificate cannot be read.
    pub fn start_tls(
        certificate: &IssuedCertificate,
        decide: impl Fn(&ReceivedRequest) -> UpstreamReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_tls_at(Ipv4Addr::LOCALHOST, certificate, decide)
    }

    /// Starts on a free port of an address, over TLS with this certificate.
    ///
    /// # Errors
    /// No port is free, or the certificate cannot be read.
    pub fn start_tls_at(
        address: Ipv4Addr,
        certificate: &IssuedCertificate,
        decide: impl Fn(&ReceivedRequest) -> UpstreamReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::listen(address, Some(certificate.server_settings()?), Box::new(decide))
    }

    fn listen(address: Ipv4Addr, tls: Option<Arc<ServerConfig>>, decide: Decide) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { decide, tls, seen: Mutex::default(), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut state = accepting.lock();
                if state.ended {
                    return;
                }
                let connection = state.connections;
                state.connections += 1;
                let serving = Arc::clone(&accepting);
                // A client that disconnects is not an error.
                thread::spawn(move || serving.accept(stream, connection));
            }
        });
        Ok(Self { address, shared })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:{port}{path}`, or `https://` of a server over TLS.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.lock().requests.clone()
    }

    /// Waits until `requests` requests were received.
    pub fn wait_for(&self, requests: usize) {
        let mut state = self.shared.lock();
        self.shared.changed.wait_while(&mut state, |seen| seen.requests.len() < requests);
    }

    /// Opens the gate: held requests are answered, later ones at once.
    pub fn open(&self) {
        self.shared.lock().opened = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.ended = true;
            state.opened = true;
        }
        self.shared.changed.notify_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock()
    }

    fn accept(&self, stream: TcpStream, connection: usize) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match &self.tls {
            None => self.serve(stream, connection),
            Some(settings) => {
                let session = ServerConnection::new(Arc::clone(settings)).map_err(io::Error::other)?;
                self.serve(StreamOwned::new(session, stream), connection)
            }
        }
    }

    fn serve(&self, stream: impl Read + Write, connection: usize) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(asked) = read(&mut stream, connection)? {
            let reply = (self.decide)(&asked);
            self.lock().requests.push(asked);
            self.changed.notify_all();
            let reply = match reply {
                UpstreamReply::Held => {
                    self.changed.wait_while(&mut self.lock(), |seen| !seen.opened);
                    UpstreamReply::new(200, "{}")
                }
                reply => reply,
            };
            match reply {
                UpstreamReply::Answer { status, headers, body } => {
                    let mut head = format!("HTTP/1.1 {status} Told\r\ncontent-length: {}\r\n", body.len());
                    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
                    head.push_str("\r\n");
                    stream.get_mut().write_all(&[head.as_bytes(), &body].concat())?;
                    stream.get_mut().flush()?;
                }
                UpstreamReply::Raw(bytes) => return stream.get_mut().write_all(&bytes),
                UpstreamReply::Held | UpstreamReply::Cut => return Ok(()),
            }
        }
        Ok(())
    }
}

pub(crate) fn read(
    stream: &mut BufReader<impl Read>,
    connection: usize,
) -> io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut request = ReceivedRequest { method, target, headers: Vec::new(), body: Vec::new(), connection };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body)?;
    Ok(Some(request))
}
