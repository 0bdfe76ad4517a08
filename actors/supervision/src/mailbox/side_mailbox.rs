//! The mailbox behind actix's own address of a node.

use std::cell::{OnceCell, RefCell};
use std::pin::Pin;
use std::task::{Context as Waking, Poll};

use actix::dev::Envelope as ActixEnvelope;
use actix::dev::channel::{AddressReceiver, AddressSender, channel};
use futures_util::stream::Stream;

use crate::instances::context::Supervised;

/// The messages sent through actix's own address. The channel is made when an actor first takes that address: few do,
/// and it is memory in each of thousands of nodes.
///
/// Belongs to the node, so that it outlives the instances; used on the node's thread only.
pub(crate) struct SideMailbox<A: Supervised> {
    bound: usize,
    channel: OnceCell<Box<SideChannel<A>>>,
}

struct SideChannel<A: Supervised> {
    sender: AddressSender<A>,
    receiver: RefCell<AddressReceiver<A>>,
}

impl<A: Supervised> SideMailbox<A> {
    /// Creates a mailbox that holds `bound` messages before its senders wait.
    pub(crate) const fn new(bound: usize) -> Self {
        Self { bound, channel: OnceCell::new() }
    }

    /// Returns `true` once an actor has taken the address.
    pub(crate) fn is_open(&self) -> bool {
        self.channel.get().is_some()
    }

    /// Returns the sender of the address; opens the mailbox.
    pub(crate) fn sender(&self) -> AddressSender<A> {
        let channel = self.channel.get_or_init(|| {
            let (sender, receiver) = channel(self.bound);
            Box::new(SideChannel { sender, receiver: RefCell::new(receiver) })
        });
        channel.sender.clone()
    }

    /// Takes the next message. A mailbox that is not open has none, and wakes no task when it is opened.
    pub(crate) fn poll_next(&self, cx: &mut Waking<'_>) -> Poll<Option<ActixEnvelope<A>>> {
        match self.channel.get() {
            Some(channel) => Pin::new(&mut *channel.receiver.borrow_mut()).poll_next(cx),
            None => Poll::Pending,
        }
    }
}
