//! The bounds on open connections, in total and for one client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use svc_model::ClientNetworks;

use super::refusal::ConnectionRefusal;
use crate::http::TrustedProxies;

/// The bounds of one listener.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    /// Connections served at once.
    pub(crate) total: usize,
    /// Connections of one client served at once.
    pub(crate) per_address: usize,
    /// The networks that count as one client.
    pub(crate) networks: ClientNetworks,
    /// Proxies, whose connections carry those of other clients: only the total counts for them.
    pub(crate) exempt: TrustedProxies,
}

/// Counts the connections of one listener.
#[derive(Debug)]
pub(crate) struct ConnectionAdmission {
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    total: usize,
    of: HashMap<IpAddr, usize>,
}

impl ConnectionAdmission {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Admits a connection until the permit is dropped.
    ///
    /// # Errors
    /// The bound that is reached.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, ConnectionRefusal> {
        let peer = peer.to_canonical();
        let client = (!self.limits.exempt.is_trusted(peer)).then(|| self.limits.networks.network_of(peer));
        let mut open = self.open.lock();
        if open.total >= self.limits.total {
            return Err(ConnectionRefusal::TooManyConnections);
        }
        if let Some(client) = client {
            let count = open.of.entry(client).or_default();
            if *count >= self.limits.per_address {
                return Err(ConnectionRefusal::TooManyOfAddress);
            }
            *count += 1;
        }
        open.total += 1;
        Ok(ConnectionPermit { admission: Arc::clone(self), client })
    }

    #[cfg(test)]
    fn open(&self) -> usize {
        self.open.lock().total
    }
}

/// The permit of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    admission: Arc<ConnectionAdmission>,
    client: Option<IpAddr>,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.admission.open.lock();
        open.total = open.total.saturating_sub(1);
        let Some(client) = self.client else { return };
        if let Some(count) = open.of.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                open.of.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(total: usize, per_address: usize) -> Arc<ConnectionAdmission> {
        let exempt = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]);
        ConnectionAdmission::new(ConnectionLimits {
            total,
            per_address,
            networks: ClientNetworks::default(),
            exempt,
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_has_its_share_and_all_have_the_total() {
        let admission = admission(3, 2);
        let held: Vec<_> = (0..2).map(|_| admission.admit(address("192.0.2.1")).unwrap()).collect();
        assert_eq!(
            admission.admit(address("::ffff:192.0.2.1")).unwrap_err(),
            ConnectionRefusal::TooManyOfAddress
        );
        let other = admission.admit(address("192.0.2.2")).unwrap();
        assert_eq!(admission.admit(address("192.0.2.3")).unwrap_err(), ConnectionRefusal::TooManyConnections);
        drop((held, other));
        assert_eq!(admission.open(), 0);
        assert!(admission.open.lock().of.is_empty());
    }

    #[test]
    fn proxies_are_bounded_by_the_total_alone() {
        let admission = admission(3, 1);
        let _held: Vec<_> = (0..3).map(|_| admission.admit(address("10.1.1.1")).unwrap()).collect();
        assert_eq!(admission.admit(address("10.1.1.1")).unwrap_err(), ConnectionRefusal::TooManyConnections);
    }

    #[test]
    fn an_ipv6_network_of_64_bits_is_one_client() {
        let admission = admission(9, 1);
        let _held = admission.admit(address("2001:db8:1:2::1")).unwrap();
        assert_eq!(
            admission.admit(address("2001:db8:1:2:9::7")).unwrap_err(),
            ConnectionRefusal::TooManyOfAddress
        );
        assert!(admission.admit(address("2001:db8:1:3::1")).is_ok());
    }
}
