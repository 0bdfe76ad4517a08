//! However an address is spelled, it is refused before anything is dialled.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use svc_outbound::{AddressError, FetchError, Trust, Url, check_peer_url, check_url};
use svc_testkit::spellings::{TARGETS, corpus, disguises, embedded_forms, parts, urls};
use svc_testkit::trap::Trap;

use crate::client;

/// Enough of a generator for spellings; the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 16) % u64::from(bound)).unwrap()
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(u32::try_from(from.len()).unwrap())).unwrap()].clone()
    }

    /// An address of a network that is not public.
    fn address(&mut self) -> Ipv4Addr {
        let network = self.pick(&TARGETS).octets();
        let last = u8::try_from(self.below(256)).unwrap();
        match network[0] {
            255 => Ipv4Addr::BROADCAST,
            192 if network[1] == 0 => Ipv4Addr::new(192, 0, 0, last),
            _ => Ipv4Addr::new(network[0], network[1], network[2], last),
        }
    }

    fn spelling(&mut self) -> String {
        let address = self.address();
        if self.below(4) == 0 {
            return self.pick(&embedded_forms(address));
        }
        let count = usize::try_from(1 + self.below(4)).unwrap();
        let bases = [self.below(5), self.below(5), self.below(5), self.below(5)];
        self.pick(&disguises(&parts(address, count, bases)))
    }
}

/// Asks for each host at the trap's port, without having its URL checked first.
async fn all_are_refused(hosts: impl IntoIterator<Item = String>, trap: &Trap) {
    let client = client(&Trust::Only(String::new()), false, Duration::from_secs(5));
    for host in hosts {
        let text = format!("http://{host}:{}/", trap.port());
        let Ok(url) = Url::parse(&text) else { continue };
        let checked = check_url(&text, false);
        assert!(matches!(checked, Err(AddressError::Forbidden { .. })), "{text} is {checked:?}");
        let status = client.get(&url, 1024).await.map(|answer| answer.status);
        assert!(
            matches!(status, Err(FetchError::Address(AddressError::Forbidden { .. }))),
            "{text} is {status:?}"
        );
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_reaches_it() {
    let hosts = corpus();
    let read = hosts.iter().filter(|host| Url::parse(&format!("http://{host}/")).is_ok()).count();
    assert!(read >= 300, "the corpus has {read} spellings that are URLs");
    all_are_refused(hosts, &Trap::bind().unwrap()).await;
}

#[tokio::test]
async fn no_url_that_hides_its_host_reaches_it() {
    let (trap, client) =
        (Trap::bind().unwrap(), client(&Trust::Only(String::new()), false, Duration::from_secs(5)));
    for text in urls(trap.port()) {
        assert!(check_url(&text, false).is_err() && check_peer_url(&text, false).is_err(), "{text:?}");
        if let Ok(url) = Url::parse(&text) {
            assert!(matches!(client.get(&url, 1024).await, Err(FetchError::Address(_))), "{text:?}");
        }
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn nor_does_any_of_ten_thousand_at_random() {
    let mut random = Random(0x5eed_0000_cafe);
    let hosts: BTreeSet<_> = (0..40_000).map(|_| random.spelling()).collect();
    let read: Vec<_> = hosts
        .into_iter()
        .filter(|host| Url::parse(&format!("http://{host}/")).is_ok())
        .take(10_000)
        .collect();
    assert_eq!(read.len(), 10_000);
    all_are_refused(read, &Trap::bind().unwrap()).await;
}

#[tokio::test]
async fn machine_name_is_refused_when_dialled() {
    let (trap, client) =
        (Trap::bind().unwrap(), client(&Trust::Only(String::new()), false, Duration::from_secs(5)));
    // Whether a name may end in a dot is the resolver's affair.
    for (host, has_address) in [("localhost", true), ("LOCALHOST", true), ("localhost.", false)] {
        let url = check_url(&format!("http://{host}:{}/?token=s3cret", trap.port()), false).unwrap();
        let error = client.get(&url, 1024).await.unwrap_err();
        match &error {
            FetchError::Address(AddressError::Forbidden { .. }) => {}
            FetchError::Address(AddressError::Unresolved { .. }) if !has_address => {}
            other => panic!("{host}: {other:?}"),
        }
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    assert_eq!(trap.take_connection_count(), 0);
}

/// The trap works, and the spellings lead to it: both would be reached without the check.
#[tokio::test]
async fn same_spellings_reach_trap_if_private_addresses_allowed() {
    let (trap, client) =
        (Trap::bind().unwrap(), client(&Trust::Only(String::new()), true, Duration::from_millis(50)));
    let mut hosts = disguises("127.0.0.1");
    hosts.extend(
        ["localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]"].map(str::to_owned),
    );
    let mut calls = 0;
    for host in hosts {
        if let Ok(url) = check_url(&format!("http://{host}:{}/", trap.port()), true) {
            assert!(matches!(client.get(&url, 1024).await, Err(FetchError::Timeout { .. })), "{host}");
            calls += 1;
        }
    }
    for text in urls(trap.port()) {
        let Ok(target) = check_peer_url(&text, true) else { continue };
        if target.url.host_str() == Some("127.0.0.1") {
            assert!(
                matches!(client.get(&target.url, 1024).await, Err(FetchError::Timeout { .. })),
                "{text:?}"
            );
            calls += 1;
        }
    }
    assert_eq!(trap.take_connection_count(), calls);
    assert!(calls >= 25, "{calls}");
}

#[test]
fn the_targets_are_what_they_claim() {
    assert!(TARGETS.iter().all(|address| !svc_outbound::is_public((*address).into())));
    assert!(!svc_outbound::is_public(Ipv6Addr::LOCALHOST.into()));
}
