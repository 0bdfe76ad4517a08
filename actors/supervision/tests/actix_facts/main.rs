//! Facts about actix 0.13.5 that the kernel relies on or works around.
//!
//! These tests use plain actix on purpose. When an upgrade makes one fail, the fact it is named after has
//! changed, and with it a reason or a foundation of this crate.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the facts are about what is banned"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod mailbox;
mod panics;
mod restarts;
mod runner;
mod runtimes;

use std::sync::Arc;
use std::thread;

use actix::Supervised;
use actix::prelude::*;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::yield_now;

type Log = Arc<Mutex<Vec<String>>>;

/// An actor that writes its life down.
#[derive(Default)]
struct ProbeActor {
    handled: u32,
    log: Log,
    /// Answer the next `stopping` with Continue.
    clings: bool,
    panics_in_started: bool,
}

impl ProbeActor {
    fn note(&self, what: &str) {
        let unwinding = if thread::panicking() { " while unwinding" } else { "" };
        self.log.lock().push(format!("{what}{unwinding}"));
    }
}

impl Actor for ProbeActor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        assert!(!self.panics_in_started, "boom in started");
        self.note("started");
    }

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        self.note("stopping");
        if std::mem::take(&mut self.clings) { Running::Continue } else { Running::Stop }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.note("stopped");
    }
}

impl Supervised for ProbeActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.note("restarting");
    }
}

/// Answers how many of these the instance has handled.
#[derive(Debug, Message)]
#[rtype(u32)]
struct Count;

impl Handler<Count> for ProbeActor {
    type Result = u32;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> u32 {
        self.handled += 1;
        self.handled
    }
}

#[derive(Message)]
#[rtype("()")]
struct Boom;

impl Handler<Boom> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: Boom, _: &mut Self::Context) {
        panic!("boom");
    }
}

#[derive(Message)]
#[rtype("()")]
struct Stop;

impl Handler<Stop> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

/// Answered by a future of the actor, once the channel speaks.
#[derive(Message)]
#[rtype("()")]
struct Attached(oneshot::Receiver<()>);

impl Handler<Attached> for ProbeActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, msg: Attached, _: &mut Self::Context) -> Self::Result {
        Box::pin(msg.0.into_actor(self).map(|_, act, _| act.note("attached future ended")))
    }
}

/// Answered by a detached future, once the channel speaks.
#[derive(Message)]
#[rtype("()")]
struct Detached(oneshot::Receiver<()>);

impl Handler<Detached> for ProbeActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, msg: Detached, _: &mut Self::Context) -> Self::Result {
        Box::pin(async move { msg.0.await.unwrap() })
    }
}

/// Runs a function inside the actor's turn.
#[derive(Message)]
#[rtype("()")]
struct Run(Turn);

type Turn = Box<dyn FnOnce(&mut Context<ProbeActor>) + Send>;

impl Handler<Run> for ProbeActor {
    type Result = ();

    fn handle(&mut self, msg: Run, ctx: &mut Self::Context) {
        (msg.0)(ctx);
    }
}

fn system<T>(test: impl Future<Output = T>) -> T {
    System::new().block_on(test)
}

fn paused_system<T>(test: impl Future<Output = T>) -> T {
    System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
    })
    .block_on(test)
}

fn lines(log: &Log) -> Vec<String> {
    log.lock().clone()
}

/// Lets every task of this thread run until none is ready.
async fn settle() {
    for _ in 0..32 {
        yield_now().await;
    }
}
