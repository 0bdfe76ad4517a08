//! The causes of failed connections in plain words, with what to check.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Returns the innermost cause of an error in plain words, without the numbers of the operating system. One that
/// has a usual remedy names it.
pub fn describe_cause(error: &(dyn Error + 'static)) -> String {
    let cause = innermost(error);
    let plain = match (cause.downcast_ref::<io::Error>(), cause.downcast_ref::<rustls::Error>()) {
        (Some(failed), _) => describe_io(failed.kind()),
        (_, Some(rustls::Error::InvalidMessage(_))) => {
            Some("the other side does not speak TLS; check the scheme and the port")
        }
        _ => None,
    };
    plain.map_or_else(|| without_number(&cause.to_string()).trim().to_owned(), str::to_owned)
}

/// Returns the last of the sources, and of what an I/O error wraps.
fn innermost<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut cause = error;
    loop {
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped.map(|inner| inner as &'e (dyn Error + 'static)).or_else(|| cause.source()) {
            Some(deeper) => deeper,
            None => return cause,
        };
    }
}

fn describe_io(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ConnectionRefused => {
            "connection refused; check that the system runs, and its host and port"
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "the other side closed the connection; check its log, the port, and whether it requires TLS"
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "there is no route to the host; check the address and the network"
        }
        ErrorKind::TimedOut => "no answer in time; check the address, and the firewalls on the way",
        ErrorKind::UnexpectedEof => {
            "the connection ended early; check the port, and whether the system requires TLS"
        }
        _ => return None,
    })
}

/// Removes the number that the standard library appends to the texts of the operating system.
fn without_number(text: &str) -> &str {
    let number = |(_, behind): (_, &str)| behind.strip_suffix(')').is_some_and(|n| n.parse::<i32>().is_ok());
    match text.rsplit_once(" (os error ") {
        Some(split) if number(split) => split.0,
        _ => text,
    }
}
