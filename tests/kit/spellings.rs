//! Internal addresses, in every spelling that hides them; none may be reached through a definition.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Loopback, private and link-local addresses, and metadata services.
pub const TARGETS: [Ipv4Addr; 12] = [
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

/// IPv6 hosts that do not embed an IPv4 address.
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

/// Formats one part of an address in a base.
fn part(value: u32, base: u32) -> String {
    match base % 5 {
        0 => format!("{value}"),
        1 => format!("0{value:o}"),
        2 => format!("0x{value:x}"),
        3 => format!("0X{value:08X}"),
        _ => format!("0000{value:o}"),
    }
}

/// Formats an address in one to four parts, each in a base of its own.
pub fn parts(address: Ipv4Addr, count: usize, bases: [u32; 4]) -> String {
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
    plain.chars().filter_map(|c| char::from_u32(u32::from(c) + 0xfee0)).collect()
}

fn percent(plain: &str) -> String {
    plain.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns disguises of an address: other digits, other dots, escapes, ignored characters.
pub fn disguises(plain: &str) -> Vec<String> {
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

/// Returns IPv6 addresses that embed an IPv4 address.
pub fn embedded_forms(address: Ipv4Addr) -> Vec<String> {
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

/// Returns every spelling as the host of a URL; some are not valid hosts.
pub fn corpus() -> BTreeSet<String> {
    let mut hosts: BTreeSet<String> = V6.map(str::to_owned).into();
    for address in TARGETS {
        hosts.extend(disguises(&address.to_string()));
        for count in 1..=4 {
            hosts.extend((0..5).map(|base| parts(address, count, [base; 4])));
            hosts.insert(parts(address, count, [2, 1, 0, 4]));
        }
        hosts.extend(embedded_forms(address));
    }
    hosts
}

/// Returns URLs that lead to a port of this machine, or appear to. A parser refuses some of them.
pub fn urls(port: u16) -> Vec<String> {
    let here = format!("127.0.0.1:{port}");
    vec![
        format!("http://1.1.1.1@{here}/"),
        format!("http://1.1.1.1:80@{here}/"),
        format!("http://1.1.1.1%2F@{here}/"),
        format!("http://a:b@c@{here}/"),
        format!("http://@{here}/"),
        format!("http://{here}#@1.1.1.1/"),
        format!("http://{here}?@1.1.1.1/"),
        format!("http://{here}\\@1.1.1.1/"),
        format!("http://{here}/@1.1.1.1/"),
        format!("http:\\\\{here}\\"),
        format!("http:/{here}/"),
        format!("http:{here}/"),
        format!("http:////{here}/"),
        format!("HTTP://{here}/"),
        format!("ht\ntp://{here}/"),
        format!(" \t http://{here}/ "),
        format!("http://12\t7.0.0.1:{port}/"),
        format!("http://127.0.0.1\r\n:{port}/"),
        format!("http://127.0.0.1:0{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[::1%lo]:{port}/"),
        format!("http://[::1%25lo]:{port}/"),
        format!("http://[fe80::1%25eth0]:{port}/"),
        format!("http://[::1]%lo:{port}/"),
        format!("http://[[::1]]:{port}/"),
        format!("http://127.0.0.1%00:{port}/"),
        format!("http://127.0.0.1%20:{port}/"),
        format!("http://127.0.0.1,1.1.1.1:{port}/"),
    ]
}
