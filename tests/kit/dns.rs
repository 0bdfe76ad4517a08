//! A DNS server over UDP that answers from a table.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::thread;

/// The port that resolvers ask.
const PORT: u16 = 53;
const CLASS_INTERNET: u16 = 1;
const TYPE_A: u16 = 1;
const TYPE_TXT: u16 = 16;
const TYPE_SRV: u16 = 33;
/// Bytes of a header.
const HEADER: usize = 12;
/// Flags of an answer: a response, recursion desired and available.
const ANSWER: u16 = 0x8180;
const NAME_ERROR: u16 = 3;

/// A record of the table.
#[derive(Clone, Debug)]
pub enum DnsRecord {
    /// The place of a service.
    Srv {
        /// Name of the service.
        name: String,
        /// Name of the host.
        target: String,
        /// Port on the host.
        port: u16,
    },
    /// A text.
    Txt {
        /// Name of the record.
        name: String,
        /// The text, below 256 bytes.
        text: String,
    },
    /// An address.
    A {
        /// Name of the host.
        name: String,
        /// Address of the host.
        address: Ipv4Addr,
    },
}

/// A running server.
#[derive(Debug)]
pub struct DnsServer(IpAddr);

impl DnsServer {
    /// Starts a server on a loopback address of its own.
    ///
    /// # Errors
    /// The port may not be bound.
    pub fn start(records: Vec<DnsRecord>) -> io::Result<Self> {
        let addresses = (1..=254).map(|last| Ipv4Addr::new(127, 0, 53, last));
        let mut bound = Err(io::ErrorKind::AddrInUse.into());
        for address in addresses {
            bound = UdpSocket::bind((address, PORT));
            if !bound.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
                break;
            }
        }
        let socket = bound?;
        let address = socket.local_addr()?.ip();
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((count, client)) = socket.recv_from(&mut buffer) {
                if let Some(reply) = buffer.get(..count).and_then(|question| answer(question, &records)) {
                    // A client that is gone asks again.
                    let _ = socket.send_to(&reply, client);
                }
            }
        });
        Ok(Self(address))
    }

    /// Returns the lines of a `resolv.conf` that names this server.
    pub fn resolver_config(&self) -> String {
        format!("nameserver {}\noptions timeout:2 attempts:3\n", self.0)
    }
}

/// Answers one question; `None` for a packet that is none.
fn answer(packet: &[u8], records: &[DnsRecord]) -> Option<Vec<u8>> {
    let (name, end) = read_name(packet)?;
    let question = packet.get(HEADER..end + 4)?;
    let kind = u16::from_be_bytes(packet.get(end..end + 2)?.try_into().ok()?);
    let matches: Vec<_> = records.iter().filter(|record| record.name().eq_ignore_ascii_case(&name)).collect();
    let data: Vec<_> =
        matches.iter().filter(|record| record.kind() == kind).map(|record| record.data()).collect();
    let flags = if matches.is_empty() { ANSWER | NAME_ERROR } else { ANSWER };
    let mut reply = packet.get(..2)?.to_vec();
    for count in [flags, 1, u16::try_from(data.len()).ok()?, 0, 0] {
        reply.extend(count.to_be_bytes());
    }
    reply.extend(question);
    for data in data {
        // The name of the question, by its place.
        reply.extend([0xc0, 0x0c]);
        reply.extend(kind.to_be_bytes());
        reply.extend(CLASS_INTERNET.to_be_bytes());
        reply.extend(60_u32.to_be_bytes());
        reply.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        reply.extend(data);
    }
    Some(reply)
}

/// Returns the name of the question, and the place behind it.
fn read_name(packet: &[u8]) -> Option<(String, usize)> {
    let (mut at, mut labels) = (HEADER, Vec::new());
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(packet.get(at..at + length)?).into_owned());
        at += length;
    }
}

impl DnsRecord {
    fn name(&self) -> &str {
        let (Self::Srv { name, .. } | Self::Txt { name, .. } | Self::A { name, .. }) = self;
        name
    }

    const fn kind(&self) -> u16 {
        match self {
            Self::Srv { .. } => TYPE_SRV,
            Self::Txt { .. } => TYPE_TXT,
            Self::A { .. } => TYPE_A,
        }
    }

    fn data(&self) -> Vec<u8> {
        match self {
            // Priority and weight are zero.
            Self::Srv { target, port, .. } => {
                let mut data = vec![0; 4];
                data.extend(port.to_be_bytes());
                target.split('.').for_each(|label| data.extend(with_length_prefix(label)));
                data.push(0);
                data
            }
            Self::Txt { text, .. } => with_length_prefix(text),
            Self::A { address, .. } => address.octets().to_vec(),
        }
    }
}

/// Returns a text behind its length.
fn with_length_prefix(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
    [length].into_iter().chain(text.bytes().take(usize::from(length))).collect()
}
