//! The domain model of the service: entities, errors, validation and content hash.
//!
//! This crate defines what all other crates share: the form of workflows, channels, connectors and packages, the table
//! of error codes, the rules that a document must satisfy before it is stored, the typed blocks of its configuration with
//! their reference, the masks of its secrets, entity tags and their preconditions, the syntax of routes, the suggestions
//! of names, and the transitions of versions and rollouts. The crate is pure. It does no I/O, spawns no tasks and logs nothing. The same input
//! always gives the same output, except for generated ids and [`Timestamp::now`]. It keeps no state beyond a
//! call.
//!
//! Rules that need the expression compiler are abstracted as [`WorkflowChecks`] and [`ChannelChecks`], which
//! the engine implements.

mod code;
pub mod config;
mod connector_need;
pub mod documents;
mod entity;
mod error;
mod error_group;
mod error_reason;
mod field;
mod field_code;
pub mod gate;
pub mod hash;
mod http;
pub mod id;
mod key;
pub mod lifecycle;
pub mod mask;
mod memory;
mod metrics;
mod package;
pub mod rollout;
pub mod route;
mod run_end;
mod suggest;
mod time;
mod unreadable;
mod validate;

pub use code::{Code, CodeEntry};
pub use config::{ChannelConfig, SecretText};
pub use connector_need::ConnectorNeed;
pub use entity::{
    ALL_WEBHOOK_TOPICS, AUDIT_ORIGIN, AuditAction, AuditResource, AuditRow, CALLBACK_METHOD, Channel,
    ChannelContent, ChannelPause, ChannelType, ClaimedRoute, Connector, ConnectorContent, ConnectorType,
    Consumer, ConsumerKey, ConsumerKeyKind, EntityKind, LifecycleStatus, MAX_CONSUMER_KEYS,
    MAX_CONSUMER_NAME, MAX_CONSUMERS, MAX_WEBHOOK_TOPIC, MAX_WEBHOOK_TOPICS, NO_SCHEDULES_HERE, Protocol,
    Workflow, WorkflowContent, WorkflowVersion, check_consumer_name, consumer_quota_scope, name_objection,
    webhook_topic_problem,
};
pub use error::ServiceError;
pub use error_group::{ErrorGroup, FailureFacts, normalise_message};
pub use error_reason::ErrorReason;
pub use field::{FieldError, Issue, ValidationReport};
pub use field_code::FieldCode;
pub use hash::{canonical_json, content_hash};
pub use http::byte_order_mark::without_byte_order_mark;
pub use http::client_network::ClientNetworks;
pub use http::markup::escape_markup;
pub use http::origin::origin_problem;
pub use http::page::Page;
pub use http::precondition::{EntityTag, Precondition};
pub use http::token::{is_token, is_token_byte};
pub use http::uri_reference::is_uri_reference;
pub use key::key_part;
pub use mask::{MASK, mask_channel_config};
pub use memory::{heap_bytes, heap_bytes_of_members};
pub use metrics::DURATION_BUCKETS;
pub use package::{
    MAX_PACKAGE_NAME, NewReceipt, PackageInventory, PackageReceipt, ReceiptState, check_package_name,
    check_package_version,
};
pub use route::{RequestPath, RoutePattern};
pub use run_end::{CANCELLED_OCCURRENCE, CANCELLED_WORK, Cancellation, InFlightCall, RunEnd};
pub use suggest::{distance, nearest};
pub use time::Timestamp;
pub use unreadable::{is_unreadable, unreadable};
pub use validate::{
    ChannelChecks, ConnectorChecks, KeyPlace, MAX_LABEL, WorkflowChecks, channel_warnings, check_import_item,
    excluded_instants, is_annotation, next_fires, parse_channel_update, parse_connector_update,
    parse_new_channel, parse_new_connector, parse_new_workflow, parse_workflow_update, unknown_key,
    unknown_keys, validate_channel, validate_connector, validate_workflow, workflow_warnings,
};
