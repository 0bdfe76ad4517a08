//! The actor of one channel on one worker thread.

mod msg;

use std::sync::Arc;

use actix::{Actor, Handler};
use actix_supervision::{Context, ReadHandler, ReadReply, StartContext, StartError, Supervised};

use crate::compute_gate::{ComputeGate, is_large_value};
use crate::definition::CompiledChannel;

pub use msg::{ProbeVersion, RunJob, RunScheduled, Submit};

/// Serves one channel on one thread.
///
/// Owns nothing but a share of its [`CompiledChannel`]: what must outlive it, such as permits, lives there. Takes
/// [`Submit`], [`RunJob`], [`RunScheduled`] and [`ProbeVersion`]; of others it uses the recorder and the queue of traces. A restart builds it from
/// the same definition; a changed definition comes as a new generation, and the old one finishes what it began. It
/// never blocks its thread and never calls another actor from within a turn.
#[derive(Debug)]
pub struct ChannelActor {
    definition: Arc<CompiledChannel>,
}

impl ChannelActor {
    /// The factory of a definition's actors.
    pub fn factory(
        definition: &Arc<CompiledChannel>,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + use<> + 'static
    {
        let definition = Arc::clone(definition);
        move |_| std::future::ready(Ok(Self { definition: Arc::clone(&definition) }))
    }
}

impl Actor for ChannelActor {
    type Context = Context<Self>;
}

impl Supervised for ChannelActor {}

impl ReadHandler<Submit> for ChannelActor {
    fn read(&self, Submit(request): Submit) -> ReadReply<<Submit as actix::Message>::Result> {
        let definition = Arc::clone(&self.definition);
        // A caller that hangs up must not leave the work half done.
        ReadReply::detached(async move {
            if ComputeGate::is_large(request.raw.len()) {
                definition.tools.compute_gate.run(definition.serve(request)).await
            } else {
                definition.serve(request).await
            }
        })
    }
}

impl ReadHandler<RunJob> for ChannelActor {
    fn read(&self, RunJob { job, limit }: RunJob) -> ReadReply<<RunJob as actix::Message>::Result> {
        let definition = Arc::clone(&self.definition);
        // The queue leaves a job only to end it: at its deadline, or with the process.
        ReadReply::later(async move {
            if is_large_value(&job.payload) {
                definition.tools.compute_gate.run(definition.perform(job, limit)).await
            } else {
                definition.perform(job, limit).await
            }
        })
    }
}

impl ReadHandler<RunScheduled> for ChannelActor {
    fn read(
        &self,
        RunScheduled(firing): RunScheduled,
    ) -> ReadReply<<RunScheduled as actix::Message>::Result> {
        let definition = Arc::clone(&self.definition);
        ReadReply::later(async move { definition.fire(firing).await })
    }
}

impl Handler<ProbeVersion> for ChannelActor {
    type Result = i64;

    fn handle(&mut self, _: ProbeVersion, _: &mut Self::Context) -> i64 {
        self.definition.version()
    }
}
