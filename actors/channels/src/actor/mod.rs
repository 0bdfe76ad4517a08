//! The actor of one channel on one worker thread.

mod messages;

use std::sync::Arc;

use actix::{Actor, Handler};
use actix_supervision::{Context, ReadHandler, ReadReply, StartContext, StartError, Supervised};

use crate::compiled_channel::CompiledChannel;
use crate::compute_gate::{ComputeGate, is_large_value};

pub use messages::{PanicFlag, ProbeVersion, RunJob, RunRecords, RunScheduled, Submit};

/// Serves one channel on one thread.
///
/// Has a reference to its [`CompiledChannel`]; state that survives a restart of the actor, such as permits, is there.
/// Handles [`Submit`], [`RunJob`], [`RunRecords`], [`RunScheduled`] and [`ProbeVersion`]; uses the recorder and the queue
/// of traces. A restart builds it from the same channel. A changed channel is a new generation, and the old one finishes
/// the work that it began. The actor never blocks its thread and never calls another actor from within a turn.
#[derive(Debug)]
pub struct ChannelActor {
    channel: Arc<CompiledChannel>,
}

impl ChannelActor {
    /// The factory of a channel's actors.
    pub fn factory(
        channel: &Arc<CompiledChannel>,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + use<> + 'static
    {
        let channel = Arc::clone(channel);
        move |_| std::future::ready(Ok(Self { channel: Arc::clone(&channel) }))
    }
}

impl Actor for ChannelActor {
    type Context = Context<Self>;
}

impl Supervised for ChannelActor {}

impl ReadHandler<Submit> for ChannelActor {
    fn read(&self, Submit(request): Submit) -> ReadReply<<Submit as actix::Message>::Result> {
        let channel = Arc::clone(&self.channel);
        // The work must not stop half way when its caller disconnects. One future for both sizes would hold the request
        // twice, and is moved for every message.
        if channel.ends_sign_in_leg(&request) {
            return ReadReply::detached(channel.serve_sign_in(request));
        }
        if ComputeGate::is_large(request.body_bytes) {
            let gate = channel.services.compute_gate.clone();
            ReadReply::detached(async move { gate.run(channel.serve(request)).await })
        } else {
            ReadReply::detached(channel.serve(request))
        }
    }
}

impl ReadHandler<RunJob> for ChannelActor {
    fn read(&self, message: RunJob) -> ReadReply<<RunJob as actix::Message>::Result> {
        let RunJob { job, limit, pinned, panicked } = message;
        let channel = Arc::clone(&self.channel);
        // The queue abandons a job only to end it: at its deadline, or with the process.
        if is_large_value(&job.payload) {
            ReadReply::later(async move {
                let run = channel.services.compute_gate.run(channel.run_job(job, limit, pinned));
                panicked.watch(run).await
            })
        } else {
            ReadReply::later(async move { panicked.watch(channel.run_job(job, limit, pinned)).await })
        }
    }
}

impl ReadHandler<RunScheduled> for ChannelActor {
    fn read(&self, RunScheduled(run): RunScheduled) -> ReadReply<<RunScheduled as actix::Message>::Result> {
        let channel = Arc::clone(&self.channel);
        ReadReply::later(async move { channel.run_scheduled(run).await })
    }
}

impl ReadHandler<RunRecords> for ChannelActor {
    fn read(&self, RunRecords(batch): RunRecords) -> ReadReply<()> {
        let channel = Arc::clone(&self.channel);
        ReadReply::later(async move { channel.run_batch(batch).await })
    }
}

impl Handler<ProbeVersion> for ChannelActor {
    type Result = i64;

    fn handle(&mut self, _: ProbeVersion, _: &mut Self::Context) -> i64 {
        self.channel.version()
    }
}
