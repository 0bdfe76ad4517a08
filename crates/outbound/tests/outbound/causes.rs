//! Causes of failed connections in plain words.

use std::error::Error;
use std::io;

use svc_outbound::describe_cause;

#[derive(Debug, thiserror::Error)]
#[error("while connecting")]
struct DialFailure(#[source] io::Error);

#[test]
fn cause_has_remedy_without_an_errno() {
    for (kind, expected) in [
        (
            io::ErrorKind::ConnectionRefused,
            "connection refused; check that the system runs, and its host and port",
        ),
        (
            io::ErrorKind::ConnectionReset,
            "the other side closed the connection; check its log, the port, and whether it requires TLS",
        ),
        (io::ErrorKind::HostUnreachable, "there is no route to the host; check the address and the network"),
    ] {
        let failed = || io::Error::from(kind);
        assert_eq!(describe_cause(&failed()), expected);
        assert_eq!(describe_cause(&DialFailure(failed())), expected, "the innermost");
        assert_eq!(describe_cause(&io::Error::other(DialFailure(failed()))), expected, "within an I/O error");
    }
    let refused = std::net::TcpStream::connect(("127.0.0.1", 1)).unwrap_err();
    assert!(refused.to_string().contains("os error") && !describe_cause(&refused).contains("os error"));
}

#[test]
fn texts_of_others_stay_but_for_a_number() {
    let cause = |text: &str| describe_cause(&*Box::<dyn Error>::from(text));
    assert_eq!(cause("Too many open files (os error 24)"), "Too many open files");
    assert_eq!(cause("cut off (os error x)"), "cut off (os error x)");
    assert_eq!(cause("invalid peer certificate: Expired"), "invalid peer certificate: Expired");
    let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
    assert!(describe_cause(&io::Error::other(plain)).starts_with("the other side does not speak TLS"));
}
