//! The HTTP API as types: the bodies of its requests and responses, the table of its endpoints, and the OpenAPI document
//! that is made from both.
//!
//! Each area has a file of types at the top (`audit.rs`) and a file of endpoints below [`endpoints`]
//! (`endpoints/audit.rs`). A type derives `Serialize`, `Deserialize` and `ToSchema`: the server writes it, clients read
//! it, and the document describes it. Fields stand in the order in which they are sent; their doc comments are their
//! descriptions. Types of this crate convert from the types of the model; other conversions belong to the server.
//!
//! The crate has no state and does no I/O.

mod audit;
mod backups;
mod dead_letters;
mod endpoint;
pub mod endpoints;
mod envelope;
mod error;
pub mod openapi;
mod packages;
mod parameter;
mod validation;

pub use audit::AuditLogEntry;
pub use backups::{BackupFile, CreatedBackup};
pub use dead_letters::{DeadLetterDetail, DeadLetterSummary, PurgeRequest, PurgeResult};
pub use endpoint::{Access, Answer, BodySchema, Endpoint, Method, SchemaSource, Tag};
pub use envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
pub use error::{ErrorDescription, ErrorDetail, ErrorEnvelope};
pub use packages::{Inventory, PackageDetail, Receipt, ReceiptRequest};
pub use parameter::{ParameterKind, PathParameter, QueryParameter};
pub use validation::{ValidationIssue, ValidationResult};
