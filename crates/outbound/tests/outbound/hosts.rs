//! The addresses for a driver that does not speak HTTP.

use std::net::TcpStream;

use svc_outbound::{AddressError, Outbound, Trust, check_host};
use svc_testkit::spellings::{corpus, disguises};
use svc_testkit::trap::Trap;

fn outbound() -> Outbound {
    Outbound::new(&Trust::Only(String::new())).unwrap()
}

/// A host with its brackets and without, and with a zone.
fn variants(host: &str) -> Vec<String> {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        None => vec![host.to_owned()],
        Some(bare) => vec![host.to_owned(), bare.to_owned(), format!("{bare}%lo"), format!("[{bare}%25lo]")],
    }
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_handed_out() {
    let outbound = outbound();
    let mut forbidden = 0;
    for host in corpus().iter().flat_map(|host| variants(host)) {
        match outbound.addresses(&host, 5432, false).await.unwrap_err() {
            AddressError::Forbidden { .. } => forbidden += 1,
            AddressError::Malformed(_) => {}
            other => panic!("{host}: {other:?}"),
        }
        assert!(check_host(&host, false).is_err(), "{host}");
    }
    assert!(forbidden >= 300, "{forbidden}");
    for host in ["localhost", "LOCALHOST"] {
        let refused = outbound.addresses(host, 5432, false).await.unwrap_err();
        assert!(matches!(refused, AddressError::Forbidden { .. }), "{host}: {refused:?}");
    }
}

/// The spellings lead to the trap: whoever dialled what is handed out would be seen.
#[tokio::test]
async fn same_spellings_lead_inside_where_that_is_allowed() {
    let (outbound, trap) = (outbound(), Trap::bind().unwrap());
    let mut reached = 0;
    for host in disguises("127.0.0.1").into_iter().chain(["localhost", "::1", "[::1]"].map(str::to_owned)) {
        for address in outbound.addresses(&host, trap.port(), true).await.unwrap_or_default() {
            reached += usize::from(TcpStream::connect(address).is_ok());
        }
    }
    assert!(reached >= 10, "{reached}");
    assert_eq!(trap.take_connection_count(), reached);
}
