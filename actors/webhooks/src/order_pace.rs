//! The pace of what consumers order by themselves: each order of each endpoint once in a second, on this node.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Time between two equal orders.
const PERIOD: Duration = Duration::from_secs(1);

/// The orders of the last second.
#[derive(Debug, Default)]
pub(crate) struct OrderPace {
    last: Mutex<HashMap<String, Instant>>,
}

impl OrderPace {
    /// Admits an order; `false` if there was an equal one within the last second.
    pub(crate) fn admit(&self, order: &str, endpoint: &str, now: Instant) -> bool {
        let mut last = self.last.lock();
        last.retain(|_, at| now.duration_since(*at) < PERIOD);
        let key = format!("{order} {endpoint}");
        let is_admitted = !last.contains_key(&key);
        if is_admitted {
            last.insert(key, now);
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_orders_are_admitted_once_a_second() {
        let (pace, now) = (OrderPace::default(), Instant::now());
        assert!(
            pace.admit("test", "a", now) && pace.admit("replay", "a", now) && pace.admit("test", "b", now)
        );
        assert!(!pace.admit("test", "a", now + Duration::from_millis(999)));
        assert!(pace.admit("test", "a", now + PERIOD));
        assert_eq!(pace.last.lock().len(), 1, "nothing is kept of earlier orders");
    }
}
