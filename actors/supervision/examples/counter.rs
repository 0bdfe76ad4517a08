//! A counter that panics on demand: typed errors, restarts under the same address, quarantine when the budget
//! is used up, and an operator's restart that ends it.
//!
//! `cargo run -p actix-supervision --example counter`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Address, Backoff, CallErrorKind, ChildSpec, Context, GroupSpec, LifecycleEvent, Observer, Placement,
    RestartPolicy, StartContext, StartError, Supervised, Tree,
};

/// Counts since its last start: what must survive a restart lives outside the actor.
struct Counter {
    count: u32,
}

impl actix::Actor for Counter {
    type Context = Context<Self>;
}

impl Supervised for Counter {}

#[derive(actix::Message)]
#[rtype(u32)]
struct Add(u32);

impl actix::Handler<Add> for Counter {
    type Result = u32;

    fn handle(&mut self, add: Add, _: &mut Context<Self>) -> u32 {
        assert!(add.0 != 13, "thirteen is more than this counter can bear");
        self.count += add.0;
        self.count
    }
}

/// Prints what happens to the tree.
struct Teller;

impl Observer for Teller {
    fn on_event(&self, event: &LifecycleEvent) {
        println!("    tree: {} generation {}: {:?}", event.path, event.generation, event.kind);
    }
}

async fn build(start: StartContext) -> Result<Counter, StartError> {
    println!("    building generation {} of {}", start.generation, start.path);
    Ok(Counter { count: 0 })
}

async fn add(counter: &Address<Counter>, number: u32) {
    match counter.call(Add(number)).await {
        Ok(count) => println!("add {number}: {count}"),
        // The message was handled, at least in part: trying again is the caller's risk.
        Err(error) if error.kind == CallErrorKind::Crashed => println!("add {number}: {error}"),
        Err(error) => println!("add {number}: {error} (retryable: {})", error.is_retryable()),
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tree = Tree::builder("example").observer(Arc::new(Teller)).build();
    tree.add_group("counters", GroupSpec::new()).await?;

    let backoff = Backoff { first: Duration::from_millis(50), max: Duration::from_secs(1), jitter: 0.0 };
    let policy = RestartPolicy {
        max_restarts: 2,
        within: Duration::from_secs(10),
        backoff,
        ..RestartPolicy::default()
    };
    let spec = ChildSpec::new().mailbox(8).policy(policy);
    let counter = tree.spawn("counters/one", spec, Placement::Here, build).await?;

    add(&counter, 2).await;
    add(&counter, 3).await;

    println!("-- a panic: the first restart is immediate");
    add(&counter, 13).await;
    add(&counter, 1).await;

    println!("-- another one: now the restart waits, and callers are told how long");
    add(&counter, 13).await;
    add(&counter, 1).await;
    tree.wait_until_running("counters/one").await?;
    add(&counter, 1).await;

    println!("-- and a third: the budget is used up");
    add(&counter, 13).await;
    if let Err(end) = tree.wait_until_running("counters/one").await {
        println!("not running: {end}");
    }
    add(&counter, 1).await;

    println!("-- an operator restarts it");
    tree.restart("counters/one").await?;
    tree.wait_until_running("counters/one").await?;
    add(&counter, 7).await;

    println!("-- the tree drains and ends");
    let exit = tree.shutdown(Duration::from_secs(1)).await;
    println!("{exit:?}");
    add(&counter, 1).await;
    Ok(())
}
