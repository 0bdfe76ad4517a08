//! An instance that ends in order: it finishes its answers, drains, and is dropped.

use std::pin::Pin;
use std::task::{Context as Waking, Poll, ready};

use futures_util::future::LocalBoxFuture;
use tokio::time::Sleep;

use crate::decide::Exit;
use crate::instances::context::Supervised;
use crate::instances::instance::Instance;
use crate::instances::panic::CatchPanic;

pub(crate) struct DrainingInstance<A: Supervised> {
    instance: Instance<A>,
    stage: Stage,
    deadline: Pin<Box<Sleep>>,
    /// The exit to report; `None` for a replaced instance, which is not reported.
    pub(crate) exit: Option<Exit>,
}

enum Stage {
    Answering,
    Draining(CatchPanic<LocalBoxFuture<'static, ()>>),
    /// The drain is over; the futures that it spawned are finished.
    Drained,
}

impl<A: Supervised> DrainingInstance<A> {
    pub(crate) fn new(instance: Instance<A>, deadline: Sleep, exit: Option<Exit>) -> Self {
        Self { instance, stage: Stage::Answering, deadline: Box::pin(deadline), exit }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.instance.generation
    }

    pub(crate) fn recent(&self) -> Vec<&'static str> {
        self.instance.recent.iter().copied().collect()
    }

    /// Notes that the node ends with this instance, and brings the deadline forward.
    pub(crate) fn end_node(&mut self, deadline: Sleep) {
        self.instance.ctx.is_node_ending = true;
        self.hurry(deadline);
    }

    /// Brings the deadline forward.
    pub(crate) fn hurry(&mut self, deadline: Sleep) {
        if deadline.deadline() < self.deadline.deadline() {
            self.deadline = Box::pin(deadline);
        }
    }

    /// Becomes ready when the instance can be dropped, with its exit if the end was not in order.
    pub(crate) fn poll(&mut self, cx: &mut Waking<'_>) -> Poll<Option<Exit>> {
        if self.deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            match self.instance.poll_futures(cx) {
                Poll::Ready(Exit::Normal) => return Poll::Ready(None),
                Poll::Ready(exit) => return Poll::Ready(Some(exit)),
                Poll::Pending => {}
            }
            match &mut self.stage {
                Stage::Answering if self.instance.answering() => return Poll::Pending,
                Stage::Answering => match self.instance.drain() {
                    Ok(drain) => self.stage = Stage::Draining(CatchPanic::new(drain)),
                    Err(panic) => return Poll::Ready(Some(panic.into_exit(Some("drain")))),
                },
                Stage::Draining(drain) => match ready!(Pin::new(drain).poll(cx)) {
                    Ok(()) => self.stage = Stage::Drained,
                    Err(panic) => return Poll::Ready(Some(panic.into_exit(Some("drain")))),
                },
                Stage::Drained if self.instance.answering() => return Poll::Pending,
                Stage::Drained => return Poll::Ready(None),
            }
        }
    }
}
