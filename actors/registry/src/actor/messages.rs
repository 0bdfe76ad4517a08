//! The messages of the registry actor.

use actix::Message;

use super::state::SnapshotChange;
use crate::scope::{ReloadError, ReloadReport};

/// Changes the snapshot. Answered when the change is done; changes run in the order of their requests.
#[derive(Debug, Message)]
#[rtype(result = "Result<ReloadReport, ReloadError>")]
pub(crate) struct ApplyChange(pub(crate) SnapshotChange);
