//! No actor starves: a flood yields to the neighbours on its thread.

use std::cell::RefCell;
use std::rc::Rc;

use actix::{Actor, AsyncContext, Handler, Message};
use actix_supervision::{Address, ChildSpec, Context, Placement, StartError, Supervised, Universe};

/// Notes its turns; sends itself the next message.
struct Spinner {
    order: Rc<RefCell<Vec<u8>>>,
    name: u8,
}

impl Actor for Spinner {
    type Context = Context<Self>;
}

impl Supervised for Spinner {}

#[derive(Message)]
#[rtype(result = "()")]
struct Spin(u32);

impl Handler<Spin> for Spinner {
    type Result = ();

    fn handle(&mut self, Spin(left): Spin, ctx: &mut Self::Context) {
        self.order.borrow_mut().push(self.name);
        if left > 0 {
            ctx.supervised_address().cast(Spin(left - 1)).unwrap();
        }
    }
}

/// The same over actix's own address and over `notify`.
#[derive(Message)]
#[rtype(result = "()")]
struct Chatter(u32);

impl Handler<Chatter> for Spinner {
    type Result = ();

    fn handle(&mut self, Chatter(left): Chatter, ctx: &mut Self::Context) {
        self.order.borrow_mut().push(self.name);
        match left {
            0 => {}
            left if left % 2 == 0 => ctx.notify(Chatter(left - 1)),
            #[expect(clippy::disallowed_methods, reason = "the bypass is what is tested")]
            left => ctx.address().do_send(Chatter(left - 1)),
        }
    }
}

thread_local! {
    static ORDER: Rc<RefCell<Vec<u8>>> = Rc::default();
}

async fn spinners(tree: &actix_supervision::Tree) -> [Address<Spinner>; 2] {
    let mut spinners = Vec::new();
    for name in 0..2 {
        let factory =
            move |_| std::future::ready(Ok::<_, StartError>(Spinner { order: ORDER.with(Rc::clone), name }));
        let path = format!("s{name}");
        spinners.push(tree.spawn(&path, ChildSpec::new(), Placement::Here, factory).await.unwrap());
        tree.wait_until_running(&path).await.unwrap();
    }
    spinners.try_into().unwrap_or_else(|_| unreachable!())
}

fn longest_run(order: &[u8]) -> usize {
    order.chunk_by(|a, b| a == b).map(<[u8]>::len).max().unwrap_or_default()
}

#[test]
fn two_floods_on_one_thread_take_turns_of_64() {
    Universe::new(1).run(async |tree| {
        let [a, b] = spinners(&tree).await;
        tokio::try_join!(a.call(Spin(5_000)), b.call(Spin(5_000))).unwrap();
        crate::support::eventually(|| ORDER.with(|order| order.borrow().len()) == 10_002).await;
        assert!(longest_run(&ORDER.take_rc()) <= 64);
    });
}

#[test]
fn messages_to_self_take_turns_too() {
    Universe::new(1).run(async |tree| {
        let [a, b] = spinners(&tree).await;
        tokio::try_join!(a.call(Chatter(2_000)), b.call(Chatter(2_000))).unwrap();
        crate::support::eventually(|| ORDER.with(|order| order.borrow().len()) == 4_002).await;
        assert!(longest_run(&ORDER.take_rc()) <= 130);
    });
}

trait TakeOrder {
    fn take_rc(&'static self) -> Vec<u8>;
}

impl TakeOrder for std::thread::LocalKey<Rc<RefCell<Vec<u8>>>> {
    fn take_rc(&'static self) -> Vec<u8> {
        self.with(|order| order.take())
    }
}
