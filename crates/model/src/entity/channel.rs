//! The channel entity.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::entity::LifecycleStatus;
use crate::hash::content_hash;
use crate::http::precondition::EntityTag;
use crate::mask::mask_channel_config;
use crate::time::Timestamp;

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $type { $($(#[$vdoc])* $variant,)* }

        impl $type {
            /// All names, as stored.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];
            /// All names, in words.
            pub(crate) const KIND: &'static str = concat!($("`", $name, "`, ",)* "in any case");

            /// Returns the name in bodies and rows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the value with that name, ignoring case.
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
    /// The delivery mode of a channel.
    ChannelType {
        /// Callers wait for the result.
        Sync = "sync",
        /// Callers do not wait for the result.
        Async = "async",
    }
}

names! {
    /// The transport that brings messages to a channel.
    Protocol {
        /// HTTP, by name and by route.
        Rest = "rest",
        /// HTTP, by name and by route; the same as `rest`.
        Http = "http",
        /// A topic of a message broker.
        Kafka = "kafka",
        /// A schedule.
        Cron = "cron",
    }
}

impl Protocol {
    /// Returns true for the protocols that have a route.
    pub const fn is_http(self) -> bool {
        matches!(self, Self::Rest | Self::Http)
    }

    /// Returns the delivery mode of a channel that states none.
    pub const fn default_channel_type(self) -> ChannelType {
        match self {
            Self::Rest | Self::Http => ChannelType::Sync,
            Self::Kafka | Self::Cron => ChannelType::Async,
        }
    }
}

/// The part of a channel that an author writes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelContent {
    /// The name that callers use; unique among channels.
    pub name: String,
    /// Description, free text.
    pub description: Option<String>,
    /// The delivery mode.
    pub channel_type: ChannelType,
    /// The transport.
    pub protocol: Protocol,
    /// HTTP methods of the route, in upper case; `None` accepts all.
    pub methods: Option<Vec<String>>,
    pub route_pattern: Option<String>,
    /// Topic of the message broker.
    pub topic: Option<String>,
    /// The consumer group that reads the topic; `None` for `kafka.group_id`.
    pub consumer_group: Option<String>,
    /// Settings of the transport, such as the schedule of a cron channel.
    pub transport_config: Value,
    /// Id of the workflow to run.
    pub workflow_id: Option<String>,
    /// The config as stored, including its secrets; see [`ChannelConfig`](crate::ChannelConfig).
    pub config: Value,
    /// Priority among routes; the highest matches first.
    pub priority: i64,
    /// Labels.
    pub tags: Vec<String>,
}

impl ChannelContent {
    /// Returns the hashed part of the document. It contains secrets and must never be shown.
    pub fn hashable(&self) -> Value {
        self.document(self.config.clone())
    }

    /// Returns the hash of the content; status and times do not affect it.
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
    /// The channel id, which all versions share.
    pub channel_id: String,
    /// The version number, from 1.
    pub version: i64,
    /// The content that the author wrote.
    pub content: ChannelContent,
    /// The lifecycle status of the version.
    pub status: LifecycleStatus,
    /// Time of creation of the version.
    pub created_at: Timestamp,
    /// Time of the last change of the row.
    pub updated_at: Timestamp,
}

impl Channel {
    /// Returns the entity tag of this version. It depends on the content, not on the status.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_version(self.version, &self.content.content_hash())
    }

    /// Keys of a read that an author cannot set, or only when the channel is created.
    pub const ONLY_READ: [&'static str; 11] = [
        "channel_id",
        "channel_type",
        "protocol",
        "version",
        "status",
        "content_hash",
        "created_at",
        "updated_at",
        "active_version",
        "paused",
        "quarantined",
    ];

    /// Returns the document as the admin API shows it: secrets are masked, absent optional fields are `null`.
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
