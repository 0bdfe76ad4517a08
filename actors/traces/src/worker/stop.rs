//! The order to stop, shared by every worker and every job.

use tokio::sync::watch;

/// The stages of the stop, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopStage {
    /// Jobs begin.
    Open,
    /// No further job begins; running jobs continue.
    Closing,
    /// Running jobs are dropped. Their rows stay unfinished, so that another process runs them again.
    Ending,
}

/// The stage of the stop, shared by all workers. It only advances.
#[derive(Debug)]
pub(crate) struct StopSignal(watch::Sender<StopStage>);

impl StopSignal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(StopStage::Open))
    }

    pub(crate) fn advance(&self, stage: StopStage) {
        self.0.send_if_modified(|now| {
            let advances = *now < stage;
            *now = stage.max(*now);
            advances
        });
    }

    /// Returns `true` if the stop has reached `stage`.
    pub(crate) fn has_reached(&self, stage: StopStage) -> bool {
        *self.0.borrow() >= stage
    }

    /// Waits until the stop has reached `stage`. Cancel-safe.
    pub(crate) async fn wait_for(&self, stage: StopStage) {
        let mut stages = self.0.subscribe();
        // The sender is part of `self`, so the channel cannot be closed.
        let _ = stages.wait_for(|now| *now >= stage).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn later_stage_reaches_every_earlier_one() {
        let order = StopSignal::new();
        assert!(order.wait_for(StopStage::Closing).now_or_never().is_none());
        order.advance(StopStage::Ending);
        order.advance(StopStage::Closing);
        assert!(order.wait_for(StopStage::Closing).now_or_never().is_some());
        assert!(order.wait_for(StopStage::Ending).now_or_never().is_some());
    }
}
