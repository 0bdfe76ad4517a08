//! Warnings of channels that name one rate limit group and ask for different rates: they do not share
//! buckets.

use std::collections::HashMap;

use serde_json::Value;
use svc_model::{ChannelConfig, Issue};
use svc_registry::Snapshot;

/// The rate that a channel asks for as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GroupRate {
    /// The block that names the group. The two blocks never share buckets.
    block: &'static str,
    group: String,
    requests_per_second: u64,
    burst: u64,
}

/// Lists the groups of a channel in which another one asks for another rate. The other channels are looked at only if
/// there are groups.
pub(crate) fn list_group_warnings(snapshot: &Snapshot, name: &str, config: &Value) -> Vec<Issue> {
    if !names_group(config) {
        return Vec::new();
    }
    RateGroupMembers::from_snapshot(snapshot).list_warnings(name, config)
}

/// The members of each group among the channels that serve.
pub(crate) struct RateGroupMembers(HashMap<(&'static str, String), Vec<(String, GroupRate)>>);

impl RateGroupMembers {
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> Self {
        let mut members: HashMap<_, Vec<_>> = HashMap::new();
        for entry in snapshot.channels().filter(|entry| entry.quarantine().is_none()) {
            for rate in group_rates(&entry.row.content.config) {
                let group = (rate.block, rate.group.clone());
                members.entry(group).or_default().push((entry.name().to_owned(), rate));
            }
        }
        Self(members)
    }

    /// Lists the groups of a channel in which another one asks for another rate.
    pub(crate) fn list_warnings(&self, name: &str, config: &Value) -> Vec<Issue> {
        group_rates(config).into_iter().filter_map(|rate| self.find_conflict(name, rate)).collect()
    }

    fn find_conflict(&self, name: &str, rate: GroupRate) -> Option<Issue> {
        let members = self.0.get(&(rate.block, rate.group.clone()))?;
        let others = members.iter().filter(|(other, theirs)| other != name && *theirs != rate);
        let (other, theirs) = others.min_by_key(|(other, _)| other)?;
        let GroupRate { block, group, requests_per_second, burst } = rate;
        let message = format!(
            "channel '{other}' asks for another rate in group '{group}' ({} per second, burst {}; here \
             {requests_per_second} per second, burst {burst}), so the two do not share buckets: give every channel \
             of the group the same rate",
            theirs.requests_per_second, theirs.burst
        );
        Some(Issue::new(format!("channel.config.{block}.group"), message))
    }
}

/// Returns whether a configuration names a group. To read a whole one costs much, and few do.
fn names_group(config: &Value) -> bool {
    ["rate_limit", "principal_rate_limit"].iter().any(|block| !config[block]["group"].is_null())
}

/// Reads the rates of the groups that a configuration names.
fn group_rates(config: &Value) -> Vec<GroupRate> {
    if !names_group(config) {
        return Vec::new();
    }
    let Ok(config) = ChannelConfig::parse(config) else { return Vec::new() };
    let limit = config.rate_limit.and_then(|limit| {
        let (requests_per_second, burst) = (limit.requests_per_second, limit.burst);
        Some(GroupRate { block: "rate_limit", group: limit.group?, requests_per_second, burst })
    });
    let quota = config.principal_rate_limit.and_then(|quota| {
        let (requests_per_second, burst) = (quota.requests_per_second, quota.burst);
        Some(GroupRate { block: "principal_rate_limit", group: quota.group?, requests_per_second, burst })
    });
    limit.into_iter().chain(quota).collect()
}
