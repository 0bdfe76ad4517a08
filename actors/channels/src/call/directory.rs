//! How calls find the channels that serve now.

use std::sync::{Arc, OnceLock, Weak};

use crate::compiled_channel::CompiledChannel;

/// The channels that serve now.
pub trait ChannelDirectory: Send + Sync {
    /// The channel of that name, as it serves at this moment.
    ///
    /// # Errors
    /// Why there is none to call.
    fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable>;
}

/// Why a channel cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCallable {
    /// No active channel has that name.
    #[error("no active channel is named '{0}'")]
    Unknown(String),
    /// It is refused at every ingress.
    #[error("channel '{0}' is quarantined; /health says why")]
    Quarantined(String),
    /// It runs when its schedule says, not when somebody asks.
    #[error("channel '{0}' runs on a schedule and cannot be called")]
    Scheduled(String),
    /// The service is starting or stopping.
    #[error("no channel can be called now")]
    Unbound,
}

/// Where calls look channels up. The engine is built before there are channels to call, so it is bound afterwards; it does
/// not keep alive what it is bound to. Cheap to clone.
#[derive(Clone, Default)]
pub struct DirectoryHandle(Arc<OnceLock<Weak<dyn ChannelDirectory>>>);

impl DirectoryHandle {
    /// Binds it. What was bound first stays.
    pub fn bind<D: ChannelDirectory + 'static>(&self, directory: &Arc<D>) {
        let directory: Weak<D> = Arc::downgrade(directory);
        // Bound already: a second registry of one engine has its channels called by nobody.
        let _ = self.0.set(directory);
    }

    pub(super) fn find(&self, name: &str) -> Result<Arc<CompiledChannel>, NotCallable> {
        let directory = self.0.get().and_then(Weak::upgrade).ok_or(NotCallable::Unbound)?;
        directory.find(name)
    }
}
