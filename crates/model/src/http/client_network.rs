//! The networks by which clients are counted.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that name a client by default: a client with one address of a network of 64 bits has all.
const DEFAULT_PREFIX: u32 = 64;

/// The network that counts as one client: an IPv4 address, or the first bits of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientNetworks {
    mask: u128,
}

impl ClientNetworks {
    /// Counts clients by this many bits of their IPv6 addresses; 128 and more are whole addresses.
    pub fn new(ipv6_prefix: u32) -> Self {
        let hidden = u128::BITS.saturating_sub(ipv6_prefix);
        Self { mask: u128::MAX.checked_shl(hidden).unwrap_or(0) }
    }

    /// Returns the network of an address. An IPv4 address within an IPv6 one is itself.
    pub fn network_of(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & self.mask).into(),
            address => address,
        }
    }
}

impl Default for ClientNetworks {
    fn default() -> Self {
        Self::new(DEFAULT_PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(prefix: u32, address: &str) -> String {
        ClientNetworks::new(prefix).network_of(address.parse().unwrap()).to_string()
    }

    #[test]
    fn ipv6_counts_by_network_and_ipv4_by_address() {
        for (prefix, address, expected) in [
            (64, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            (56, "2001:db8:1:2ff:3::", "2001:db8:1:200::"),
            (128, "2001:db8::1", "2001:db8::1"),
            (0, "2001:db8::1", "::"),
            (64, "192.0.2.1", "192.0.2.1"),
            (64, "::ffff:192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(network(prefix, address), expected, "{address}/{prefix}");
        }
        assert_eq!(ClientNetworks::default(), ClientNetworks::new(64));
    }
}
