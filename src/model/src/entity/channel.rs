//! Channels.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::entity::LifecycleStatus;
use crate::hash::content_hash;
use crate::mask::mask_channel_config;
use crate::precondition::EntityTag;
use crate::time::Timestamp;

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $type { $($(#[$vdoc])* $variant,)* }

        impl $type {
            /// Every name, as stored.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The name in bodies and rows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The value of that name, whatever its case.
            pub fn parse(name: &str) -> Option<Self> {
                $(if name.eq_ignore_ascii_case($name) { return Some(Self::$variant); })*
                None
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names! {
    /// Whether callers of a channel wait for the result.
    ChannelType {
        /// They do.
        Sync = "sync",
        /// They do not.
        Async = "async",
    }
}

names! {
    /// How messages reach a channel.
    Protocol {
        /// HTTP, by name and route.
        Rest = "rest",
        /// HTTP, by name and route; the same as `rest`.
        Http = "http",
        /// A topic of a message broker.
        Kafka = "kafka",
        /// A schedule.
        Cron = "cron",
    }
}

impl Protocol {
    /// True for the protocols that own a route.
    pub const fn is_http(self) -> bool {
        matches!(self, Self::Rest | Self::Http)
    }
}

/// What an author writes in a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelContent {
    /// Name, the one callers use; unique among channels.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Whether callers wait.
    pub channel_type: ChannelType,
    /// How messages arrive.
    pub protocol: Protocol,
    /// HTTP methods of the route, upper case.
    pub methods: Option<Vec<String>>,
    /// Pattern of the route.
    pub route_pattern: Option<String>,
    /// Topic of the broker.
    pub topic: Option<String>,
    /// Consumer group, informational.
    pub consumer_group: Option<String>,
    /// Settings of the transport; the schedule of a cron channel.
    pub transport_config: Value,
    /// The workflow that runs.
    pub workflow_id: Option<String>,
    /// Guard and shaping blocks, as stored, with their secrets. See [`ChannelConfig`](crate::ChannelConfig).
    pub config: Value,
    /// Order among routes; higher matches first.
    pub priority: i64,
    /// Labels.
    pub tags: Vec<String>,
}

impl ChannelContent {
    /// The part of the document that is hashed, with its secrets: never show it.
    pub fn hashable(&self) -> Value {
        self.document(self.config.clone())
    }

    /// The hash of what the author wrote; status and times do not count.
    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }

    fn document(&self, config: Value) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "channel_type": self.channel_type,
            "protocol": self.protocol,
            "methods": self.methods,
            "route_pattern": self.route_pattern,
            "topic": self.topic,
            "consumer_group": self.consumer_group,
            "transport_config": self.transport_config,
            "workflow_id": self.workflow_id,
            "config": config,
            "priority": self.priority,
            "tags": self.tags,
        })
    }
}

/// One version of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Id, shared by all versions.
    pub channel_id: String,
    /// Version, from 1.
    pub version: i64,
    /// What the author wrote.
    pub content: ChannelContent,
    /// Where the version stands.
    pub status: LifecycleStatus,
    /// When the version was made.
    pub created_at: Timestamp,
    /// When the row last changed.
    pub updated_at: Timestamp,
}

impl Channel {
    /// The tag of this version as it is stored; the status does not count.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_version(self.version, &self.content.content_hash())
    }

    /// The keys of a read that an author cannot write, or can write only once.
    pub const ONLY_READ: [&'static str; 8] = [
        "channel_id",
        "channel_type",
        "protocol",
        "version",
        "status",
        "content_hash",
        "created_at",
        "updated_at",
    ];

    /// The document as the admin API answers it, its secrets masked; absent optional fields are `null`.
    pub fn to_json(&self) -> Value {
        let mut document = self.content.document(mask_channel_config(&self.content.config));
        document["channel_id"] = json!(self.channel_id);
        document["version"] = json!(self.version);
        document["status"] = json!(self.status);
        document["content_hash"] = json!(self.content.content_hash());
        document["created_at"] = json!(self.created_at);
        document["updated_at"] = json!(self.updated_at);
        document
    }
}
