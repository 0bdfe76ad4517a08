//! The registry as the directory of calls between channels: the snapshot at the moment of the call.

use std::sync::Arc;

use svc_channels::CompiledChannel;
use svc_channels::call::{ChannelDirectory, NotCallable};
use svc_model::ErrorReason;
use svc_model::Protocol;

use crate::actor::RegistryShared;
use crate::snapshot::ChannelState;

impl ChannelDirectory for RegistryShared {
    fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable> {
        let snapshot = self.snapshot();
        let entry = snapshot.channel_by_name(name).ok_or_else(|| NotCallable::Unknown(name.to_owned()))?;
        if entry.row.content.protocol == Protocol::Cron {
            return Err(NotCallable::Scheduled(name.to_owned()));
        }
        match &entry.state {
            ChannelState::Serving(_) if entry.pause().is_some() => {
                Err(NotCallable::Paused { name: name.to_owned(), id: Arc::clone(&entry.id) })
            }
            ChannelState::Serving(serving) => Ok(Arc::clone(&serving.compiled)),
            ChannelState::Quarantined(_) => {
                self.services.metrics.count_error(ErrorReason::ChannelQuarantined);
                Err(NotCallable::Quarantined(name.to_owned()))
            }
        }
    }
}
