//! What the registry is told.

use actix::Message;

use super::state::SnapshotChange;
use crate::scope::{ReloadError, ReloadReport};

/// A change to the snapshot; answered when it is done, behind what was asked before.
#[derive(Debug, Message)]
#[rtype(result = "Result<ReloadReport, ReloadError>")]
pub(crate) struct ApplyChange(pub(crate) SnapshotChange);
