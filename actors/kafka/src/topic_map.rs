//! The map from topics to channels: pure, no clock, no I/O.
//!
//! The mappings of the configuration come first, then the topics that channels name. A topic feeds one
//! channel: of two channels that name it, the one with the higher priority gets it, then the one with the
//! smaller name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A channel that names a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicClaim {
    pub(crate) topic: Arc<str>,
    pub(crate) channel: Arc<str>,
    pub(crate) priority: i64,
    pub(crate) group: Option<Arc<str>>,
}

/// The channel that a topic feeds, and the consumer group that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicRoute {
    /// Name of the channel. With a mapping of the configuration it may be unknown.
    pub(crate) channel: Arc<str>,
    pub(crate) group: Arc<str>,
    /// True for a mapping of the configuration.
    pub(crate) is_configured: bool,
}

/// A channel that does not get the topic it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TopicConflict {
    pub(crate) topic: Arc<str>,
    pub(crate) channel: Arc<str>,
    /// The channel that gets it.
    pub(crate) winner: Arc<str>,
}

/// The routes of all topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopicMap {
    routes: BTreeMap<Arc<str>, TopicRoute>,
}

impl TopicMap {
    /// Builds the map from the mappings of the configuration and the claims of channels. `group_of` returns
    /// the consumer group of a mapped channel, if that names one; `default_group` is that of all others.
    pub(crate) fn build(
        mappings: &[(String, String)],
        mut claims: Vec<TopicClaim>,
        group_of: impl Fn(&str) -> Option<Arc<str>>,
        default_group: &Arc<str>,
    ) -> (Self, Vec<TopicConflict>) {
        let mut routes: BTreeMap<Arc<str>, TopicRoute> = BTreeMap::new();
        for (topic, channel) in mappings {
            let group = group_of(channel).unwrap_or_else(|| Arc::clone(default_group));
            let route = TopicRoute { channel: channel.as_str().into(), group, is_configured: true };
            routes.insert(topic.as_str().into(), route);
        }
        claims.sort_by(|one, other| {
            other.priority.cmp(&one.priority).then_with(|| one.channel.cmp(&other.channel))
        });
        let mut conflicts = Vec::new();
        for TopicClaim { topic, channel, group, .. } in claims {
            match routes.get(&topic) {
                Some(route) if route.channel == channel => {}
                Some(route) => {
                    conflicts.push(TopicConflict { topic, channel, winner: Arc::clone(&route.channel) });
                }
                None => {
                    let group = group.unwrap_or_else(|| Arc::clone(default_group));
                    routes.insert(topic, TopicRoute { channel, group, is_configured: false });
                }
            }
        }
        (Self { routes }, conflicts)
    }

    /// Returns the route of a topic.
    pub(crate) fn route(&self, topic: &str) -> Option<&TopicRoute> {
        self.routes.get(topic)
    }

    /// Returns the topics of every consumer group.
    pub(crate) fn groups(&self) -> BTreeMap<Arc<str>, BTreeSet<Arc<str>>> {
        let mut groups: BTreeMap<Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
        for (topic, route) in &self.routes {
            groups.entry(Arc::clone(&route.group)).or_default().insert(Arc::clone(topic));
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(topic: &str, channel: &str, priority: i64, group: Option<&str>) -> TopicClaim {
        TopicClaim { topic: topic.into(), channel: channel.into(), priority, group: group.map(Into::into) }
    }

    fn build(mappings: &[(&str, &str)], claims: Vec<TopicClaim>) -> (TopicMap, Vec<TopicConflict>) {
        let mappings: Vec<_> =
            mappings.iter().map(|(topic, channel)| ((*topic).to_owned(), (*channel).to_owned())).collect();
        let group_of = |channel: &str| (channel == "grouped").then(|| "its-own".into());
        TopicMap::build(&mappings, claims, group_of, &"svc".into())
    }

    fn channel_of(map: &TopicMap, topic: &str) -> Option<String> {
        map.route(topic).map(|route| route.channel.to_string())
    }

    #[test]
    fn mapping_of_the_configuration_goes_before_every_channel() {
        let claims = vec![claim("orders", "eager", 100, None), claim("orders", "mapped", 0, Some("g"))];
        let (map, conflicts) = build(&[("orders", "mapped"), ("other", "nobody")], claims);
        assert_eq!(channel_of(&map, "orders").as_deref(), Some("mapped"));
        assert_eq!(channel_of(&map, "other").as_deref(), Some("nobody"), "it need not be known");
        let lost = TopicConflict { topic: "orders".into(), channel: "eager".into(), winner: "mapped".into() };
        assert_eq!(conflicts, [lost], "the mapped channel itself loses nothing");
    }

    #[test]
    fn higher_priority_then_smaller_name_gets_the_topic() {
        let claims = vec![claim("t", "b", 1, None), claim("t", "a", 1, None), claim("t", "z", 2, None)];
        let (map, conflicts) = build(&[], claims.clone());
        assert_eq!(channel_of(&map, "t").as_deref(), Some("z"));
        assert_eq!(conflicts.iter().map(|lost| &*lost.channel).collect::<Vec<_>>(), ["a", "b"]);
        let (map, _) = build(&[], claims[..2].to_vec());
        assert_eq!(channel_of(&map, "t").as_deref(), Some("a"));
    }

    #[test]
    fn topic_without_own_group_joins_the_service_group() {
        let claims = vec![claim("a", "one", 0, Some("g")), claim("b", "two", 0, None)];
        let (map, _) = build(&[("c", "grouped"), ("d", "unknown")], claims);
        let groups: Vec<_> = map
            .groups()
            .into_iter()
            .map(|(group, topics)| (group.to_string(), topics.iter().map(ToString::to_string).collect()))
            .collect();
        let expected: Vec<(String, Vec<String>)> = vec![
            ("g".into(), vec!["a".into()]),
            ("its-own".into(), vec!["c".into()]),
            ("svc".into(), vec!["b".into(), "d".into()]),
        ];
        assert_eq!(groups, expected);
    }

    proptest! {
        #[test]
        fn map_does_not_depend_on_the_order_of_channels(
            mut claims in prop::collection::vec(("[a-c]", "[p-t]", 0_i64..3), 0..8),
            swaps in prop::collection::vec((0_usize..8, 0_usize..8), 0..8),
        ) {
            // A channel names one topic.
            claims.sort_by(|one, other| one.1.cmp(&other.1));
            claims.dedup_by(|one, other| one.1 == other.1);
            let of = |claims: &[(String, String, i64)]| {
                let claims = claims.iter().map(|(topic, name, priority)| claim(topic, name, *priority, None));
                build(&[], claims.collect())
            };
            let (map, conflicts) = of(&claims);
            let mut shuffled = claims.clone();
            for (one, other) in swaps.into_iter().filter(|(one, other)| one.max(other) < &claims.len()) {
                shuffled.swap(one, other);
            }
            prop_assert_eq!(&of(&shuffled).0, &map);
            let topics: BTreeSet<_> = claims.iter().map(|(topic, ..)| topic).collect();
            prop_assert_eq!(claims.len() - conflicts.len(), topics.len(), "every topic feeds one channel");
        }
    }
}
