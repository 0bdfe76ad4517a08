//! A small blocking HTTP/1.1 client for loopback tests; it accepts every status.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use serde_json::Value;

/// Longest time of one exchange; then it counts as hung.
const EXCHANGE_LIMIT: Duration = Duration::from_secs(60);

/// A response, headers in order of arrival with lowercase names.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as received.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns the first value of a header, by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON; `null` when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Checks the status.
    ///
    /// # Errors
    /// Another status; the message carries the body.
    pub fn expect_status(&self, status: u16) -> io::Result<()> {
        if self.status == status {
            return Ok(());
        }
        Err(io::Error::other(format!("answered {} where {status} was due: {}", self.status, self.text())))
    }
}

/// A client of one address. It opens a connection for each request, or keeps one with
/// [`HttpClient::keep_alive`].
#[derive(Debug)]
pub struct HttpClient {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    kept: Option<BufReader<Stream>>,
    keep: bool,
    tls: Option<Arc<ClientConfig>>,
}

/// A connection, in plain text or within TLS.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl HttpClient {
    /// Makes a client that opens a connection for each request.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new(), kept: None, keep: false, tls: None }
    }

    /// Keeps one connection open between requests.
    #[must_use]
    pub fn keep_alive(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Speaks TLS with these settings.
    #[must_use]
    pub fn over_tls(mut self, settings: Arc<ClientConfig>) -> Self {
        self.tls = Some(settings);
        self
    }

    /// Sends this header with every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends `GET path`.
    ///
    /// # Errors
    /// Any socket error, or a response that is not HTTP/1.1.
    pub fn get(&mut self, path: &str) -> io::Result<HttpResponse> {
        self.send("GET", path, &[], b"")
    }

    /// Sends a request with a JSON body.
    ///
    /// # Errors
    /// Any socket error, or a response that is not HTTP/1.1.
    pub fn json(&mut self, method: &str, path: &str, body: &Value) -> io::Result<HttpResponse> {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// Sends any request, byte for byte; a header `host` replaces the address.
    ///
    /// # Errors
    /// Any socket error, or a response that is not HTTP/1.1.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<HttpResponse> {
        let mut connection = match self.kept.take() {
            Some(open) => open,
            None => self.connect()?,
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.keep {
            head.push_str("connection: close\r\n");
        }
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        connection.get_mut().write_all(&bytes)?;
        connection.get_mut().flush()?;
        let answer = read_answer(&mut connection, method == "HEAD")?;
        if self.keep && answer.header("connection") != Some("close") {
            self.kept = Some(connection);
        }
        Ok(answer)
    }

    fn connect(&self) -> io::Result<BufReader<Stream>> {
        let stream = TcpStream::connect_timeout(&self.address, EXCHANGE_LIMIT)?;
        stream.set_read_timeout(Some(EXCHANGE_LIMIT))?;
        stream.set_nodelay(true)?;
        let Some(settings) = &self.tls else { return Ok(BufReader::new(Stream::Plain(stream))) };
        let name = ServerName::from(self.address.ip());
        let connection = ClientConnection::new(Arc::clone(settings), name).map_err(io::Error::other)?;
        Ok(BufReader::new(Stream::Tls(Box::new(StreamOwned::new(connection, stream)))))
    }
}

fn read_answer(stream: &mut BufReader<Stream>, bodiless: bool) -> io::Result<HttpResponse> {
    loop {
        let status_line = read_line(stream)?;
        let status = status_line
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse::<u16>().ok())
            .ok_or_else(|| invalid(&format!("not an HTTP/1.1 status line: {status_line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(stream)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if status == 100 {
            continue;
        }
        let mut answer = HttpResponse { status, headers, body: Vec::new() };
        if !bodiless && status != 204 && status != 304 {
            answer.body = read_body(stream, &answer)?;
        }
        return Ok(answer);
    }
}

fn read_body(stream: &mut BufReader<Stream>, answer: &HttpResponse) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if answer.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = usize::from_str_radix(read_line(stream)?.trim(), 16)
                .map_err(|_| invalid("a chunk without a size"))?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk)?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    match answer.header("content-length").and_then(|value| value.parse::<usize>().ok()) {
        Some(length) => {
            body.resize(length, 0);
            stream.read_exact(&mut body)?;
        }
        None => {
            stream.read_to_end(&mut body)?;
        }
    }
    Ok(body)
}

fn read_line(stream: &mut BufReader<Stream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection closed before the answer"));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
