//! The limit on requests of one client address, before any credential is looked at and any channel is found.
//!
//! Each plane has buckets of its own, so that a client that floods one of them can still reach the others.
//! `OPTIONS` and the operational listener are not limited.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use svc_channels::{ChannelMetrics, Limiter};
use svc_model::{ClientNetworks, ServiceError};

use crate::config::RateLimitSection;
use crate::http::plane::Plane;

/// The configured limits with their buckets.
#[derive(Debug)]
pub(crate) struct RateLimits {
    groups: ArcSwapOption<Groups>,
    networks: ClientNetworks,
    metrics: ChannelMetrics,
}

#[derive(Debug)]
struct Groups {
    admin: Limiter,
    data: Limiter,
    operational: Limiter,
}

impl Groups {
    fn new(config: &RateLimitSection) -> Option<Arc<Self>> {
        let default = || Limiter::new(config.default_rps.into(), config.default_burst.into());
        let own = |rps: u32| Limiter::new(rps.into(), u64::from(rps) / 2 + 1);
        config.enabled.then(|| {
            Arc::new(Self {
                admin: own(config.endpoints.admin_rps),
                data: config.endpoints.data_rps.map_or_else(default, own),
                operational: default(),
            })
        })
    }
}

impl RateLimits {
    /// Builds the configured limits; none if they are disabled.
    pub(crate) fn new(config: &RateLimitSection, metrics: ChannelMetrics) -> Self {
        Self { groups: ArcSwapOption::new(Groups::new(config)), networks: config.client_networks(), metrics }
    }

    /// Replaces the limits; all buckets are full again.
    pub(crate) fn replace(&self, config: &RateLimitSection) {
        self.groups.store(Groups::new(config));
    }

    /// Counts a request of this client against the limit of its plane.
    ///
    /// # Errors
    /// 429 for a client over its limit; the refusal is counted.
    pub(crate) fn check(&self, plane: Plane, client: IpAddr) -> Result<(), ServiceError> {
        let groups = self.groups.load();
        let Some(groups) = groups.as_deref() else { return Ok(()) };
        let (limiter, scope) = match plane {
            Plane::Admin => (&groups.admin, "admin"),
            Plane::Data => (&groups.data, "data"),
            Plane::Operational(_) | Plane::Other => (&groups.operational, "operational"),
        };
        if limiter.check(&self.networks.network_of(client)) {
            return Ok(());
        }
        self.metrics.count_rate_limited(scope);
        Err(ServiceError::rate_limited())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn count_admitted(limits: &RateLimits, plane: Plane, client: IpAddr) -> usize {
        (0..1_000).take_while(|_| limits.check(plane, client).is_ok()).count()
    }

    fn limits(change: impl FnOnce(&mut RateLimitSection)) -> RateLimits {
        let mut config = RateLimitSection { enabled: true, ..RateLimitSection::default() };
        change(&mut config);
        RateLimits::new(&config, ChannelMetrics::default())
    }

    #[tokio::test(start_paused = true)]
    async fn every_plane_has_its_own_buckets_for_each_client() {
        let limits = limits(|_| {});
        for (plane, burst) in
            [(Plane::Admin, 11), (Plane::Data, 50), (Plane::Operational("/health"), 50), (Plane::Other, 0)]
        {
            assert_eq!(count_admitted(&limits, plane, CLIENT), burst, "{plane:?}");
        }
        assert_eq!(count_admitted(&limits, Plane::Admin, IpAddr::V4(Ipv4Addr::BROADCAST)), 11);
    }

    #[tokio::test(start_paused = true)]
    async fn own_limit_has_burst_of_half_plus_one() {
        let limits = limits(|config| {
            config.endpoints.data_rps = Some(7);
            config.endpoints.admin_rps = u32::MAX;
        });
        assert_eq!(count_admitted(&limits, Plane::Data, CLIENT), 4);
        assert_eq!(count_admitted(&limits, Plane::Admin, CLIENT), 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_one_ipv6_network_share_their_buckets() {
        let address = |host: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, host >> 8, 0, 0, 0, host));
        let by_network = limits(|_| {});
        assert_eq!(count_admitted(&by_network, Plane::Data, address(1)), 50);
        assert_eq!(count_admitted(&by_network, Plane::Data, address(2)), 0);
        assert_eq!(count_admitted(&by_network, Plane::Data, address(0x101)), 50, "another network");
        let by_address = limits(|config| config.ipv6_prefix = 128);
        assert_eq!(count_admitted(&by_address, Plane::Data, address(1)), 50);
        assert_eq!(count_admitted(&by_address, Plane::Data, address(2)), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_limited_when_switched_off() {
        let limits = limits(|config| config.enabled = false);
        assert_eq!(count_admitted(&limits, Plane::Data, CLIENT), 1_000);
    }
}
