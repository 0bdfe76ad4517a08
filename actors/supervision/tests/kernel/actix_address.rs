//! Actix's own address: taken late, it is a way in at once, and it outlives the instance that took it.

use std::time::Duration;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Handler, Message, ResponseActFuture, WrapFuture};
use actix_supervision::{Address, ChildSpec, Context, Placement, StartError, Supervised, Tree, Universe};

struct Doubler {
    generation: u64,
}

impl Actor for Doubler {
    type Context = Context<Self>;
}

impl Supervised for Doubler {}

/// Takes the address in a future, when the mailbox of this turn was already looked at.
#[derive(Debug, Message)]
#[rtype(result = "Addr<Doubler>")]
struct TakeAddress;

impl Handler<TakeAddress> for Doubler {
    type Result = ResponseActFuture<Self, Addr<Self>>;

    fn handle(&mut self, _: TakeAddress, _: &mut Self::Context) -> Self::Result {
        Box::pin(tokio::task::yield_now().into_actor(self).map(|(), _, ctx| ctx.address()))
    }
}

/// Answers twice the number, and the generation.
#[derive(Debug, Message)]
#[rtype(result = "(u32, u64)")]
struct Double(u32);

impl Handler<Double> for Doubler {
    type Result = actix::MessageResult<Double>;

    fn handle(&mut self, Double(number): Double, _: &mut Self::Context) -> Self::Result {
        actix::MessageResult((number.checked_mul(2).expect("too much"), self.generation))
    }
}

async fn doubler(tree: &Tree) -> Address<Doubler> {
    let factory = |start: actix_supervision::StartContext| {
        std::future::ready(Ok::<_, StartError>(Doubler { generation: start.generation }))
    };
    let doubler = tree.spawn("doubler", ChildSpec::new(), Placement::Here, factory).await.unwrap();
    tree.wait_until_running("doubler").await.unwrap();
    doubler
}

#[expect(clippy::disallowed_methods, reason = "the bypass is what is tested")]
async fn double(address: &Addr<Doubler>, number: u32) -> (u32, u64) {
    tokio::time::timeout(Duration::from_secs(5), address.send(Double(number))).await.unwrap().unwrap()
}

#[test]
fn an_address_that_a_future_takes_is_heard() {
    Universe::new(1).run(async |tree| {
        let address = doubler(&tree).await.call(TakeAddress).await.unwrap();
        assert_eq!(double(&address, 21).await, (42, 1));
    });
}

#[test]
fn an_address_outlives_the_instance_that_took_it() {
    Universe::new(1).run(async |tree| {
        let doubler = doubler(&tree).await;
        let address = doubler.call(TakeAddress).await.unwrap();
        doubler.call(Double(u32::MAX)).await.unwrap_err();
        tree.wait_until_running("doubler").await.unwrap();
        assert_eq!(double(&address, 4).await, (8, 2));
    });
}
