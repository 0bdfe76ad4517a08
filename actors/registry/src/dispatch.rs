//! The dispatch of a message to an actor of its channel: one rule for requests, accepted jobs and scheduled
//! runs.
//!
//! A message is offered to the next actor when the last one was on its way out and handed it back. A channel
//! in quarantine and a crash of the run are counted here and nowhere else.

use std::sync::Arc;

use actix::Message;
use actix_supervision::{CallError, CallErrorKind, ReadHandler};
use svc_channels::ChannelActor;
use svc_model::ErrorReason;

use crate::handle::Registry;
use crate::snapshot::LoadedChannel;
use crate::worker::WorkerId;

/// Maximum number of actors that a message is offered to.
const MAX_OFFERS: usize = 3;

/// The worker whose actor is asked first: that of the calling thread, or else the first one, and `offset`
/// places on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstWorker {
    pub(crate) own: Option<WorkerId>,
    pub(crate) offset: usize,
}

/// The reason why a message was not answered. `E` is the reason why its channel was not found.
pub(crate) enum DispatchError<M, E> {
    /// The channel was not found.
    NotFound { error: E, message: M },
    /// The channel is quarantined; `channel_quarantined` was counted. The message is missing if it was
    /// handled.
    Quarantined { channel: Arc<LoadedChannel>, reason: Arc<str>, message: Option<M> },
    /// No worker serves the channel yet.
    NoWorker { channel: Arc<LoadedChannel>, message: M },
    /// The call failed. A crash was counted as `panic`; one that the end of the process caused is
    /// [`CallErrorKind::Stopped`] and not counted.
    Failed { channel: Arc<LoadedChannel>, error: CallError<M> },
    /// Every actor that the message was offered to was on its way out.
    Rejected { channel: Arc<LoadedChannel>, message: M },
}

impl Registry {
    /// Sends a message to an actor of the channel that `find` returns for it, and returns the answer. `find`
    /// is called before every offer with the message and the number of the offer, from 0: a newer snapshot
    /// may have another actor for the message, or none.
    ///
    /// # Errors
    /// Every variant of [`DispatchError`] as described there.
    pub(crate) async fn dispatch<M, E>(
        &self,
        first: FirstWorker,
        mut message: M,
        mut find: impl FnMut(&M, usize) -> Result<Arc<LoadedChannel>, E>,
    ) -> Result<M::Result, DispatchError<M, E>>
    where
        ChannelActor: ReadHandler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let metrics = &self.shared.services.metrics;
        let mut offer = 0;
        loop {
            let channel = match find(&message, offer) {
                Ok(channel) => channel,
                Err(error) => return Err(DispatchError::NotFound { error, message }),
            };
            if let Some(quarantine) = channel.quarantine() {
                metrics.count_error(ErrorReason::ChannelQuarantined);
                let reason = Arc::clone(&quarantine.reason);
                return Err(DispatchError::Quarantined { channel, reason, message: Some(message) });
            }
            let Ok(actor) = channel.actor_after(first.own, first.offset.wrapping_add(offer)) else {
                return Err(DispatchError::NoWorker { channel, message });
            };
            let mut error = match actor.ask(message).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match (error.kind.clone(), error.message.take()) {
                (CallErrorKind::Draining | CallErrorKind::Stopped, Some(returned)) => message = returned,
                (CallErrorKind::Quarantined { reason }, message) => {
                    metrics.count_error(ErrorReason::ChannelQuarantined);
                    return Err(DispatchError::Quarantined { channel, reason, message });
                }
                (CallErrorKind::Crashed, _) if self.shared.deployer.is_ending() => {
                    // The deadline of the shutdown cut the run off: nothing crashed.
                    let error = CallError { kind: CallErrorKind::Stopped, message: None };
                    return Err(DispatchError::Failed { channel, error });
                }
                (kind, message) => {
                    if kind == CallErrorKind::Crashed {
                        metrics.count_error(ErrorReason::Panic);
                    }
                    return Err(DispatchError::Failed { channel, error: CallError { kind, message } });
                }
            }
            offer += 1;
            if offer == MAX_OFFERS {
                return Err(DispatchError::Rejected { channel, message });
            }
        }
    }

    /// Returns a lookup for [`dispatch`](Self::dispatch) that offers a message to `channel` first and then to
    /// the channel of the same id as it serves now.
    pub(crate) fn same_channel<M>(
        &self,
        channel: &Arc<LoadedChannel>,
    ) -> impl FnMut(&M, usize) -> Result<Arc<LoadedChannel>, ()> {
        move |_, offer| match offer {
            0 => Ok(Arc::clone(channel)),
            _ => self.snapshot().channel_by_id(channel.id()).cloned().ok_or(()),
        }
    }
}
