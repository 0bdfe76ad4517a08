//! The classification of addresses as public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Networks without public services: the IANA IPv4 Special-Purpose Address Registry (RFC 6890 and its
/// successors) and multicast. Two are our own additions: 168.63.129.16, public by the registry, is the
/// address at which a cloud answers its machines, and the relays of 6to4 lead to any IPv4 address that a
/// packet names.
const FORBIDDEN_V4: [Ipv4Net; 17] = [
    v4(0, 0, 0, 0, 8),          // this network, unspecified
    v4(10, 0, 0, 0, 8),         // private
    v4(100, 64, 0, 0, 10),      // shared by carriers; also the metadata service 100.100.100.200
    v4(127, 0, 0, 0, 8),        // loopback
    v4(168, 63, 129, 16, 32),   // our addition: a cloud's host, as its machines see it
    v4(169, 254, 0, 0, 16),     // link-local; the metadata service 169.254.169.254
    v4(172, 16, 0, 0, 12),      // private
    v4(192, 0, 0, 0, 24),       // protocol assignments
    v4(192, 0, 2, 0, 24),       // documentation
    v4(192, 88, 99, 0, 24),     // our addition: 6to4 relays (deprecated, RFC 7526)
    v4(192, 168, 0, 0, 16),     // private
    v4(198, 18, 0, 0, 15),      // benchmarking
    v4(198, 51, 100, 0, 24),    // documentation
    v4(203, 0, 113, 0, 24),     // documentation
    v4(224, 0, 0, 0, 4),        // multicast
    v4(240, 0, 0, 0, 4),        // reserved
    v4(255, 255, 255, 255, 32), // broadcast
];

/// Everything that is allocated for global unicast. What lies outside is unspecified, loopback, discard-only,
/// unique local, link-local, site-local, multicast, translation for local use or not allocated; to refuse the
/// last is our own addition to the registry.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

/// Networks inside [`GLOBAL_V6`] that are not public.
const FORBIDDEN_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23),     // protocol assignments: Teredo, benchmarking, ORCHID
    v6([0x2001, 0xdb8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),     // 6to4
    v6([0x3fff, 0, 0], 20),     // documentation
];

/// The well-known prefix of NAT64 (RFC 6052): the last four bytes are the IPv4 address that is reached.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);
/// `::/96`, IPv4-compatible (RFC 4291): the last four bytes are an IPv4 address.
const COMPATIBLE: Ipv6Net = v6([0, 0, 0], 96);

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(head: [u16; 3], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(head[0], head[1], head[2], 0, 0, 0, 0, 0), bits)
}

/// Returns `true` for an address that is reachable from the internet.
///
/// IPv6 addresses that embed an IPv4 address (mapped, compatible, NAT64) are judged by that one.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => is_public_v4(inner),
            None => GLOBAL_V6.contains(&address) && !FORBIDDEN_V6.iter().any(|net| net.contains(&address)),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !FORBIDDEN_V4.iter().any(|net| net.contains(&address))
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    let last = Ipv4Addr::new(a, b, c, d);
    address.to_ipv4_mapped().or_else(|| {
        let stands_for = NAT64.contains(&address) || COMPATIBLE.contains(&address);
        stands_for.then_some(last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn network_machine_and_documentation_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(!public(address), "{address}");
        }
    }
}
