//! The registry as calls between channels see it: what serves at the moment of the call.

use std::sync::Arc;

use svc_channels::Definition;
use svc_channels::call::{Absent, Directory};
use svc_model::Protocol;

use crate::actor::Shared;
use crate::snapshot::ChannelState;

impl Directory for Shared {
    fn find(&self, name: &str) -> Result<Arc<Definition>, Absent> {
        let snapshot = self.snapshot();
        let entry = snapshot.by_name(name).ok_or_else(|| Absent::Unknown(name.to_owned()))?;
        if entry.row.content.protocol == Protocol::Cron {
            return Err(Absent::Scheduled(name.to_owned()));
        }
        match &entry.state {
            ChannelState::Serving(serving) => Ok(Arc::clone(&serving.definition)),
            ChannelState::Quarantined(_) => {
                self.tools.metrics.error("channel_quarantined");
                Err(Absent::Quarantined(name.to_owned()))
            }
        }
    }
}
