//! Hard cases: destructors that panic, threads that end, orders that cross exits, callers that leave.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod callers;
mod destructors;
mod floods;
mod observers;
mod orders;
mod starts;
mod storm;
mod threads;

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix::{
    Actor, ActorContext, AsyncContext, AtomicResponse, Handler, Message, ResponseActFuture, WrapFuture,
};
use actix_supervision::universe::Universe;
use actix_supervision::{
    Address, Backoff, CallErrorKind, ChildSpec, Context, ExhaustedAction, GroupSpec, LifecycleEvent,
    NotRunningError, Observer, OrderError, Placement, ReadHandler, ReadReply, RestartPolicy, RetireError,
    SpawnError, StartContext, StartError, Strategy, Supervised, Tree, TreeExit,
};
use futures_util::future::{LocalBoxFuture, join_all};
use futures_util::{FutureExt, poll};
use parking_lot::Mutex;
use tokio::sync::oneshot;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Obeys every message, however bad.
#[derive(Default)]
struct Victim {
    name: u32,
    _bomb: Bomb,
    panics_in_started: bool,
    drain: Option<LocalBoxFuture<'static, ()>>,
    handled: Arc<Mutex<Vec<u32>>>,
}

impl Actor for Victim {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        assert!(!self.panics_in_started, "boom in started");
    }
}

impl Supervised for Victim {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.drain.take().unwrap_or_else(|| Box::pin(async {}))
    }
}

/// Panics when it is dropped, if it is live.
#[derive(Default)]
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "boom in drop");
    }
}

/// Answers the instance's name.
#[derive(Debug, Message)]
#[rtype(u32)]
struct Name;

impl Handler<Name> for Victim {
    type Result = u32;

    fn handle(&mut self, _: Name, _: &mut Context<Self>) -> u32 {
        self.name
    }
}

/// Notes its number and panics at every seventh.
#[derive(Debug, Message)]
#[rtype("()")]
struct Work(u32);

impl Handler<Work> for Victim {
    type Result = ();

    fn handle(&mut self, work: Work, _: &mut Context<Self>) {
        self.handled.lock().push(work.0);
        assert!(!work.0.is_multiple_of(7), "boom at {}", work.0);
    }
}

#[derive(Debug, Message)]
#[rtype("()")]
struct Boom;

impl Handler<Boom> for Victim {
    type Result = ();

    fn handle(&mut self, _: Boom, _: &mut Context<Self>) {
        panic!("boom");
    }
}

/// Answered once the channel speaks or closes; the mailbox waits.
#[derive(Debug, Message)]
#[rtype("()")]
struct HoldMessage(oneshot::Receiver<()>);

impl Handler<HoldMessage> for Victim {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, hold: HoldMessage, _: &mut Context<Self>) -> Self::Result {
        AtomicResponse::new(Box::pin(async { drop(hold.0.await) }.into_actor(self)))
    }
}

/// Panics when it is dropped unhandled.
#[derive(Debug, Message)]
#[rtype("()")]
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("boom in a message");
    }
}

impl Handler<Fragile> for Victim {
    type Result = ();

    fn handle(&mut self, fragile: Fragile, _: &mut Context<Self>) {
        std::mem::forget(fragile);
    }
}

/// Sends itself again for ever, by the way given.
#[derive(Debug, Clone, Copy, Message)]
#[rtype("()")]
enum Again {
    Cast,
    Notify,
}

impl Handler<Again> for Victim {
    type Result = ();

    fn handle(&mut self, again: Again, ctx: &mut Context<Self>) {
        match again {
            Again::Cast => drop(ctx.supervised_address().cast(again)),
            Again::Notify => ctx.notify(again),
        }
    }
}

/// Runs a function with the context.
#[derive(Message)]
#[rtype("()")]
struct Run(Turn);

type Turn = Box<dyn FnOnce(&mut Context<Victim>) + Send>;

impl Handler<Run> for Victim {
    type Result = ();

    fn handle(&mut self, run: Run, ctx: &mut Context<Self>) {
        (run.0)(ctx);
    }
}

/// Shuts the tree down and waits for it, as part of the answer.
#[derive(Message)]
#[rtype("()")]
struct ShutDown(Tree);

impl Handler<ShutDown> for Victim {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, order: ShutDown, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async move { drop(order.0.shutdown(SECOND).await) }.into_actor(self))
    }
}

/// A read that never ends.
#[derive(Debug, Message)]
#[rtype("()")]
struct Stare;

impl ReadHandler<Stare> for Victim {
    fn read(&self, _: Stare) -> ReadReply<()> {
        ReadReply::later(pending())
    }
}

/// A factory of victims named by their generation.
fn victims(
    make: impl Fn() -> Victim + Send + Sync + 'static,
) -> impl Fn(StartContext) -> Ready + Send + Sync + 'static {
    move |start| {
        let name = u32::try_from(start.generation).unwrap();
        std::future::ready(Ok(Victim { name, ..make() }))
    }
}

type Ready = std::future::Ready<Result<Victim, StartError>>;

async fn spawn(tree: &Tree, path: &str, spec: ChildSpec) -> Address<Victim> {
    let address = tree.spawn(path, spec, Placement::Here, victims(Victim::default)).await.unwrap();
    tree.wait_until_running(path).await.unwrap();
    address
}

/// A policy that restarts `max_restarts` times, at once.
fn restarts(max_restarts: u32) -> RestartPolicy {
    let mut policy = RestartPolicy { max_restarts, ..RestartPolicy::default() };
    policy.backoff.first = Duration::ZERO;
    policy
}
