//! The vocabulary of the service: entities, errors, validation, content hash.
//!
//! This crate owns what every other part agrees on: the shape of a workflow, a channel and a connector, the table of
//! error codes, the rules a document must meet before it is stored, and the arithmetic of versions and rollouts.
//! It is pure. It opens no file, holds no connection, spawns nothing and logs nothing; the same input always gives
//! the same answer, generated ids and the clock of [`Timestamp::now`] aside. Nothing in it survives a restart,
//! because nothing in it lives longer than a call.
//!
//! Rules that need a compiler for expressions are asked for through [`WorkflowChecks`] and [`ChannelChecks`], which
//! the engine implements.

mod code;
pub mod config;
mod entity;
mod error;
mod field;
mod field_code;
pub mod hash;
pub mod id;
pub mod lifecycle;
pub mod mask;
mod page;
mod precondition;
pub mod rollout;
pub mod route;
mod suggest;
mod time;
mod unreadable;
mod validate;

pub use code::{Code, CodeEntry};
pub use config::{ChannelConfig, SecretText};
pub use entity::{
    AuditRow, Channel, ChannelContent, ChannelType, Connector, ConnectorContent, ConnectorType, EntityKind,
    LifecycleStatus, NewAudit, Protocol, Workflow, WorkflowContent, WorkflowVersion, key_principal,
};
pub use error::ServiceError;
pub use field::{FieldError, Issue, ValidationReport};
pub use field_code::FieldCode;
pub use hash::{canonical_json, content_hash};
pub use mask::{MASK, mask_channel_config};
pub use page::{Page, PageOf};
pub use precondition::{EntityTag, Precondition};
pub use route::{RequestPath, RoutePattern};
pub use suggest::{distance, nearest};
pub use time::Timestamp;
pub use unreadable::{is_unreadable, unreadable};
pub use validate::{
    ChannelChecks, ConnectorChecks, KeyPlace, MAX_LABEL, WorkflowChecks, channel_warnings, check_import_item,
    is_annotation, next_fires, parse_channel_update, parse_connector_update, parse_new_channel,
    parse_new_connector, parse_new_workflow, parse_workflow_update, unknown_key, unknown_keys,
    validate_channel, validate_connector, validate_workflow, workflow_warnings,
};
