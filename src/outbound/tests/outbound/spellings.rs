//! However an address is spelled, it is refused before anything is dialled.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use svc_outbound::{AddressError, FetchError, Trust, Url, check_url};

use crate::client;
use crate::trap::Trap;

/// The machine itself, its neighbours, the metadata services.
const TARGETS: [Ipv4Addr; 12] = [
    Ipv4Addr::new(127, 0, 0, 1),
    Ipv4Addr::new(127, 255, 255, 254),
    Ipv4Addr::new(0, 0, 0, 0),
    Ipv4Addr::new(10, 1, 2, 3),
    Ipv4Addr::new(172, 16, 254, 1),
    Ipv4Addr::new(192, 168, 1, 1),
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(224, 0, 0, 251),
    Ipv4Addr::new(255, 255, 255, 255),
];

/// IPv6 hosts that are not spelled after an IPv4 address.
const V6: [&str; 22] = [
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[0::1]",
    "[::0.0.0.1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[FD00:EC2::254]",
    "[fdff:ffff::1]",
    "[fe80::1]",
    "[fe80::a9fe:a9fe]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[ff05::2]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[64:ff9b:1::7f00:1]",
];

/// One part of an address in a base.
fn part(value: u32, base: u32) -> String {
    match base % 5 {
        0 => format!("{value}"),
        1 => format!("0{value:o}"),
        2 => format!("0x{value:x}"),
        3 => format!("0X{value:08X}"),
        _ => format!("0000{value:o}"),
    }
}

/// One, two, three or four parts, each in a base of its own.
fn parts(address: Ipv4Addr, count: usize, bases: [u32; 4]) -> String {
    let [a, b, c, d] = address.octets().map(u32::from);
    let values = match count {
        1 => vec![u32::from(address)],
        2 => vec![a, b << 16 | c << 8 | d],
        3 => vec![a, b, c << 8 | d],
        _ => vec![a, b, c, d],
    };
    let spelled: Vec<_> = values.into_iter().zip(bases).map(|(value, base)| part(value, base)).collect();
    spelled.join(".")
}

fn fullwidth(plain: &str) -> String {
    plain.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect()
}

fn percent(plain: &str) -> String {
    plain.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The ways in which text may hide an address: other digits, other dots, escapes, characters that count for nothing.
fn disguises(plain: &str) -> Vec<String> {
    vec![
        plain.to_owned(),
        format!("{plain}."),
        percent(plain),
        fullwidth(plain),
        plain.replace('.', "%2e"),
        plain.replace('.', "\u{3002}"),
        plain.replace('.', "\u{ff0e}"),
        plain.replace('.', "\u{ff61}"),
        plain.replace('1', "\u{2460}").replace('2', "\u{2461}"),
        plain.replace('0', "\u{1d7ce}"),
        plain.replacen('.', "\u{ad}.", 1),
        plain.replacen('.', ".\u{200b}", 1),
    ]
}

/// IPv6 addresses that stand for an IPv4 address.
fn embedded(address: Ipv4Addr) -> Vec<String> {
    let bits = u32::from(address);
    let (high, low) = (bits >> 16, bits & 0xffff);
    vec![
        format!("[::ffff:{address}]"),
        format!("[::FFFF:{high:X}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{high:04x}:{low:04x}]"),
        format!("[::{address}]"),
        format!("[64:ff9b::{address}]"),
        format!("[64:ff9b:1::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::{:x}:{:x}]", !high & 0xffff, !low & 0xffff),
        format!("[::ffff:0:{high:x}:{low:x}]"),
    ]
}

pub(crate) fn corpus() -> BTreeSet<String> {
    let mut hosts: BTreeSet<String> = V6.map(str::to_owned).into();
    for address in TARGETS {
        hosts.extend(disguises(&address.to_string()));
        for count in 1..=4 {
            hosts.extend((0..5).map(|base| parts(address, count, [base; 4])));
            hosts.insert(parts(address, count, [2, 1, 0, 4]));
        }
        hosts.extend(embedded(address));
    }
    hosts
}

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
            return self.pick(&embedded(address));
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
        let text = format!("http://{host}:{}/", trap.port);
        let Ok(url) = Url::parse(&text) else { continue };
        let checked = check_url(&text, false);
        assert!(matches!(checked, Err(AddressError::Forbidden { .. })), "{text} is {checked:?}");
        let asked = client.get(&url, 1024).await.map(|answer| answer.status);
        assert!(
            matches!(asked, Err(FetchError::Address(AddressError::Forbidden { .. }))),
            "{text} is {asked:?}"
        );
    }
    assert_eq!(trap.count(), 0);
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_reaches_it() {
    let hosts = corpus();
    let read = hosts.iter().filter(|host| Url::parse(&format!("http://{host}/")).is_ok()).count();
    assert!(read >= 300, "the corpus has {read} spellings that are URLs");
    all_are_refused(hosts, &Trap::set()).await;
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
    all_are_refused(read, &Trap::set()).await;
}

#[tokio::test]
async fn a_name_of_the_machine_is_refused_where_it_is_dialled() {
    let (trap, client) = (Trap::set(), client(&Trust::Only(String::new()), false, Duration::from_secs(5)));
    // Whether a name may end in a dot is the resolver's affair.
    for (host, has_address) in [("localhost", true), ("LOCALHOST", true), ("localhost.", false)] {
        let url = check_url(&format!("http://{host}:{}/?token=s3cret", trap.port), false).unwrap();
        let error = client.get(&url, 1024).await.unwrap_err();
        match &error {
            FetchError::Address(AddressError::Forbidden { .. }) => {}
            FetchError::Address(AddressError::Unresolved { .. }) if !has_address => {}
            other => panic!("{host}: {other:?}"),
        }
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    assert_eq!(trap.count(), 0);
}

/// The trap works, and the spellings lead to it: both would be reached if nobody looked.
#[tokio::test]
async fn the_same_spellings_reach_the_trap_where_private_addresses_are_allowed() {
    let (trap, client) = (Trap::set(), client(&Trust::Only(String::new()), true, Duration::from_millis(50)));
    let mut hosts = disguises("127.0.0.1");
    hosts.extend(
        ["localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]"].map(str::to_owned),
    );
    let mut asked = 0;
    for host in hosts {
        if let Ok(url) = check_url(&format!("http://{host}:{}/", trap.port), true) {
            assert!(matches!(client.get(&url, 1024).await, Err(FetchError::Timeout { .. })), "{host}");
            asked += 1;
        }
    }
    assert_eq!(trap.count(), asked);
    assert!(asked >= 15, "{asked}");
}

#[test]
fn the_targets_are_what_they_claim() {
    assert!(TARGETS.iter().all(|address| !svc_outbound::is_public((*address).into())));
    assert!(!svc_outbound::is_public(Ipv6Addr::LOCALHOST.into()));
}
