//! A blocking reader of server-sent events.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longest time between two events; then the stream counts as hung.
const SILENCE: Duration = Duration::from_secs(60);

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedEvent {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Option<String>,
    /// Its data; `null` if they are not JSON.
    pub data: Value,
}

/// A stream of events over a connection of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct EventReader {
    /// The status of the response.
    pub status: u16,
    /// Header lines of the response, names in lower case.
    pub headers: Vec<(String, String)>,
    connection: BufReader<TcpStream>,
    /// The bytes of the chunks that were read and not used.
    text: Vec<u8>,
}

impl EventReader {
    /// Sends `GET path` with these headers and reads the head of the response.
    ///
    /// # Errors
    /// Any socket error, or a response that is not HTTP/1.1.
    pub fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, SILENCE)?;
        stream.set_read_timeout(Some(SILENCE))?;
        let mut head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n");
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        let mut connection = BufReader::new(stream);
        let status = read_line(&mut connection)?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no HTTP status"))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut connection)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Self { status, headers, connection, text: Vec::new() })
    }

    /// Returns the first value of a header, by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Waits for the next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// Any socket error, also a stream that is silent for too long.
    pub fn next_event(&mut self) -> io::Result<Option<ReceivedEvent>> {
        loop {
            if let Some(end) = self.text.windows(2).position(|bytes| bytes == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                return Ok(Some(parse(&String::from_utf8_lossy(&event))));
            }
            if !self.read_chunk()? {
                return Ok(None);
            }
        }
    }

    /// Waits for the next event of a name.
    ///
    /// # Errors
    /// Any socket error, or a stream that ends before.
    pub fn next_named(&mut self, name: &str) -> io::Result<ReceivedEvent> {
        loop {
            match self.next_event()? {
                Some(event) if event.name == name => return Ok(event),
                Some(_) => {}
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("no event {name}"))),
            }
        }
    }

    /// Reads a chunk; `false` at the end of the body or of the connection.
    fn read_chunk(&mut self) -> io::Result<bool> {
        let line = read_line(&mut self.connection)?;
        let Ok(size) = usize::from_str_radix(line.trim(), 16) else { return Ok(false) };
        let mut chunk = vec![0; size + 2];
        self.connection.read_exact(&mut chunk)?;
        self.text.extend_from_slice(&chunk[..size]);
        Ok(size > 0)
    }
}

fn parse(text: &str) -> ReceivedEvent {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    ReceivedEvent {
        name: field("event: ").unwrap_or_default(),
        id: field("id: "),
        data: field("data: ").and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default(),
    }
}

fn read_line(connection: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
