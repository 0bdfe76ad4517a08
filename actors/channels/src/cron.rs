//! The configuration of a scheduled channel: its schedule, its payload, and the policies for missed and
//! overlapping runs.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_ledger::{Misfire, Singleton};
use svc_model::ChannelContent;
use svc_model::config::{CronTransport, MisfirePolicy, RunExclusion};
use svc_schedule::Schedule;

/// The parsed transport of a scheduled channel.
#[derive(Clone, Debug)]
pub struct CronConfig {
    pub schedule: Schedule,
    /// The payload of every run.
    pub payload: Value,
    /// The policy for instants that passed while nothing scheduled them. A bound is as authored; the server
    /// may allow fewer.
    pub misfire: Misfire,
    /// The slot that keeps runs apart; `None` if they may overlap.
    pub singleton: Option<Singleton>,
    /// Identifies the settings that determine the instants: expression, zone, misfire policy and bound. When
    /// it changes, the schedule starts over.
    pub hash: String,
}

impl CronConfig {
    /// Parses the transport of the channel `id`.
    ///
    /// # Errors
    /// The mistake, as the reason for a quarantine.
    pub fn parse(id: &str, content: &ChannelContent) -> Result<Self, String> {
        let transport = CronTransport::parse(&content.transport_config).map_err(|errors| {
            let reasons: Vec<_> =
                errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
            reasons.join("; ")
        })?;
        let schedule =
            Schedule::parse(&transport.schedule, &transport.timezone).map_err(|error| error.to_string())?;
        let bound = transport.max_catch_up.unwrap_or(1);
        let misfire = match transport.misfire_policy {
            MisfirePolicy::Skip => Misfire::Skip,
            MisfirePolicy::Latest => Misfire::Latest,
            MisfirePolicy::CatchUp => Misfire::CatchUp(bound),
        };
        Ok(Self {
            hash: hash(&[schedule.expression(), schedule.zone(), misfire.name(), &bound.to_string()]),
            schedule,
            payload: Value::Object(transport.payload),
            misfire,
            singleton: transport.exclusion.map(|exclusion| singleton(id, exclusion)),
        })
    }
}

fn singleton(id: &str, exclusion: RunExclusion) -> Singleton {
    Singleton { key: exclusion.key.unwrap_or_else(|| id.to_owned()), slots: exclusion.slots }
}

fn hash(parts: &[&str]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(parts.join("\n")) {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::{ChannelType, Protocol};

    use super::*;

    fn parse(transport_config: Value) -> Result<CronConfig, String> {
        let content = ChannelContent {
            name: "nightly".into(),
            description: None,
            channel_type: ChannelType::Async,
            protocol: Protocol::Cron,
            methods: None,
            route_pattern: None,
            topic: None,
            consumer_group: None,
            transport_config,
            workflow_id: Some("w".into()),
            config: json!({}),
            priority: 0,
            tags: vec![],
        };
        CronConfig::parse("c-1", &content)
    }

    #[test]
    fn absent_cron_keys_have_their_defaults() {
        let config = parse(json!({"schedule": "0 0 * * * *"})).unwrap();
        assert_eq!((config.payload, config.misfire), (json!({}), Misfire::Latest));
        assert_eq!(config.singleton, None);
        assert_eq!(config.schedule.zone(), "UTC");
    }

    #[test]
    fn singleton_key_is_channel_id_unless_shared() {
        let of = |concurrency: Value| {
            parse(json!({"schedule": "@hourly", "concurrency": concurrency})).unwrap().singleton
        };
        assert_eq!(of(json!({"policy": "allow", "key": "k"})), None);
        assert_eq!(of(json!({"policy": "forbid"})), Some(Singleton { key: "c-1".into(), slots: 1 }));
        let shared = json!({"policy": "forbid", "key": "k", "slots": 3});
        assert_eq!(of(shared), Some(Singleton { key: "k".into(), slots: 3 }));
    }

    #[test]
    fn annotations_that_create_accepts_are_loaded() {
        let annotated = json!({"schedule": "@hourly", "x-owner": "billing", "$schema": "s",
            "concurrency": {"policy": "forbid", "x-why": "one at a time"}});
        assert!(parse(annotated).is_ok());
    }

    #[test]
    fn hash_follows_only_keys_that_decide_instants() {
        let base = json!({"schedule": "0 0 3 * * *", "timezone": "Europe/Berlin"});
        let with = |key: &str, value: Value| {
            let mut transport = base.clone();
            transport[key] = value;
            parse(transport).unwrap().hash
        };
        let own = parse(base.clone()).unwrap().hash;
        assert_eq!(with("payload", json!({"a": 1})), own);
        assert_eq!(with("concurrency", json!({"policy": "forbid"})), own);
        for (key, value) in [
            ("schedule", json!("0 0 4 * * *")),
            ("timezone", json!("UTC")),
            ("misfire_policy", json!("skip")),
            ("max_catch_up", json!(2)),
        ] {
            assert_ne!(with(key, value), own, "{key}");
        }
    }

    #[test]
    fn a_transport_that_cannot_be_followed_says_why() {
        for (transport, part) in [
            (json!({}), "schedule"),
            (json!({"schedule": "0 0 3 * * *", "jitter": 1}), "jitter"),
            (json!({"schedule": "0 0 31 2 * *"}), ""),
            (json!({"schedule": "@hourly", "timezone": "Mars/Olympus"}), ""),
            (json!({"schedule": "@hourly", "concurrency": {"policy": "queue_one"}}), "use allow, forbid"),
            (json!({"schedule": "@hourly", "misfire_policy": "catch_up", "max_catch_up": 5000}), "1000"),
        ] {
            let reason = parse(transport.clone()).unwrap_err();
            assert!(reason.contains(part), "{transport}: {reason}");
        }
    }
}
