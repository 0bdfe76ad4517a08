//! The bounds on open connections, in total and for one client.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::refusal::ConnectionRefusal;

/// The bounds of one listener.
pub struct ConnectionLimits {
    /// Connections served at once.
    pub total: usize,
    /// Connections of one client served at once.
    pub per_address: usize,
    /// Returns the address by which the client of a peer is counted; `None` for a peer that only the total counts.
    pub client_of: Box<dyn Fn(IpAddr) -> Option<IpAddr> + Send + Sync>,
}

impl fmt::Debug for ConnectionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, per_address, client_of: _ } = self;
        let mut shown = f.debug_struct("ConnectionLimits");
        shown.field("total", total).field("per_address", per_address).finish_non_exhaustive()
    }
}

/// Counts the connections of one listener.
#[derive(Debug)]
pub struct ConnectionAdmission {
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    total: usize,
    of: HashMap<IpAddr, usize>,
}

impl ConnectionAdmission {
    /// Makes the counter of a listener with these bounds.
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Admits a connection until the permit is dropped.
    ///
    /// # Errors
    /// The bound that is reached.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, ConnectionRefusal> {
        let peer = peer.to_canonical();
        let client = (self.limits.client_of)(peer);
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
        let client_of = |peer: IpAddr| (peer != address("10.1.1.1")).then_some(peer);
        ConnectionAdmission::new(ConnectionLimits { total, per_address, client_of: Box::new(client_of) })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn address_has_its_share_of_the_total() {
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
    fn peers_without_client_count_in_the_total_alone() {
        let admission = admission(3, 1);
        let _held: Vec<_> = (0..3).map(|_| admission.admit(address("10.1.1.1")).unwrap()).collect();
        assert_eq!(admission.admit(address("10.1.1.1")).unwrap_err(), ConnectionRefusal::TooManyConnections);
    }
}
