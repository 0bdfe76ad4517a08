//! The last calls of each connector on this node, for operators: no body, no secret, a bounded number.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use svc_model::Timestamp;

/// Calls that are kept of each connector.
const KEPT: usize = 50;

/// A call that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// The time of its end.
    pub ended_at: Timestamp,
    /// Name of the channel whose run made it.
    pub channel: Arc<str>,
    /// The function that made it.
    pub function: Arc<str>,
    /// The part of the system that was called, such as method and path.
    pub target: Option<Arc<str>>,
    /// The code of its error; `None` if it succeeded.
    pub code: Option<&'static str>,
    /// The status of an HTTP answer that was an error.
    pub http_status: Option<u16>,
    /// Its duration, with everything it tried again.
    pub took: Duration,
    /// The attempts that were made; none if the breaker was open.
    pub attempts: u32,
}

/// The last calls by the names of connectors.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    calls: Mutex<HashMap<Arc<str>, VecDeque<RecordedCall>>>,
}

impl CallLog {
    /// Adds a call; the oldest beyond the bound is dropped.
    pub(crate) fn add(&self, connector: &str, call: RecordedCall) {
        let mut calls = self.calls.lock();
        if let Some(known) = calls.get_mut(connector) {
            if known.len() == KEPT {
                known.pop_front();
            }
            known.push_back(call);
        } else {
            calls.insert(connector.into(), VecDeque::from([call]));
        }
    }

    /// Returns the calls of a connector, the newest first.
    pub(crate) fn list(&self, connector: &str) -> Vec<RecordedCall> {
        self.calls.lock().get(connector).into_iter().flatten().rev().cloned().collect()
    }

    /// Drops the calls of a connector that is gone.
    pub(crate) fn forget(&self, connector: &str) {
        self.calls.lock().remove(connector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(attempts: u32) -> RecordedCall {
        RecordedCall {
            ended_at: Timestamp::now(),
            channel: "orders".into(),
            function: "http_call".into(),
            target: None,
            code: None,
            http_status: None,
            took: Duration::ZERO,
            attempts,
        }
    }

    #[test]
    fn newest_fifty_calls_of_each_connector_are_kept() {
        let log = CallLog::default();
        (1..=60).for_each(|number| log.add("crm", call(number)));
        log.add("bank", call(7));
        let attempts: Vec<_> = log.list("crm").iter().map(|call| call.attempts).collect();
        assert_eq!(attempts, (11..=60).rev().collect::<Vec<_>>());
        assert_eq!(log.list("bank").len(), 1);
        log.forget("crm");
        assert!(log.list("crm").is_empty() && !log.list("bank").is_empty());
    }
}
