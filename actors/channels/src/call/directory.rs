//! The directory of the channels that serve now.

use std::sync::{Arc, OnceLock, Weak};

use crate::compiled_channel::CompiledChannel;

/// The channels that serve now.
pub trait ChannelDirectory: Send + Sync {
    /// Returns the channel of that name as it serves at this moment.
    ///
    /// # Errors
    /// [`NotCallable`] with the reason why there is no channel to call.
    fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable>;
}

/// The reason why a channel cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCallable {
    /// No active channel has that name.
    #[error("no active channel is named '{0}'")]
    Unknown(String),
    /// The channel is refused at every ingress.
    #[error("channel '{0}' is quarantined; /health says why")]
    Quarantined(String),
    /// The channel is paused.
    #[error("channel '{name}' is paused")]
    Paused {
        /// Its name.
        name: String,
        /// Its id.
        id: Arc<str>,
    },
    /// The channel runs on its schedule only.
    #[error("channel '{0}' runs on a schedule and cannot be called")]
    Scheduled(String),
    /// The service is starting or stopping.
    #[error("no channel can be called now")]
    Unbound,
}

/// A late-bound handle of the channel directory. The engine is built before there are channels to call, so
/// the handle is bound afterwards; it does not keep the directory alive. Cheap to clone.
#[derive(Clone, Default)]
pub struct DirectoryHandle(Arc<OnceLock<Weak<dyn ChannelDirectory>>>);

impl DirectoryHandle {
    /// Binds the handle. The first binding stays.
    pub fn bind<D: ChannelDirectory + 'static>(&self, directory: &Arc<D>) {
        let directory: Weak<D> = Arc::downgrade(directory);
        // Already bound: the channels of a second registry of one engine cannot be called.
        let _ = self.0.set(directory);
    }

    pub(super) fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable> {
        let directory = self.0.get().and_then(Weak::upgrade).ok_or(NotCallable::Unbound)?;
        directory.find(name)
    }
}
