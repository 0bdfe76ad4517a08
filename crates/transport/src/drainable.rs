//! The HTTP/1.1 connections of one thread. Those without a request end soon after a drain began.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::state::ConnectionState;

/// The open connections of a thread, by the addresses of their states.
#[derive(Default)]
pub(super) struct DrainableConnections {
    states: RefCell<HashMap<*const ConnectionState, Rc<ConnectionState>>>,
    is_draining: Cell<bool>,
}

/// The entry of a connection, removed when this is dropped.
pub(super) struct DrainableConnection {
    connections: Rc<DrainableConnections>,
    key: *const ConnectionState,
}

impl DrainableConnections {
    /// Adds a connection.
    pub(super) fn add(self: &Rc<Self>, state: &Rc<ConnectionState>) -> DrainableConnection {
        if self.is_draining.get() {
            state.end_when_idle();
        }
        let key = Rc::as_ptr(state);
        self.states.borrow_mut().insert(key, Rc::clone(state));
        DrainableConnection { connections: Rc::clone(self), key }
    }

    /// Ends the connections without a request, and each other one once its response is sent.
    pub(super) fn end_idle(&self) {
        self.is_draining.set(true);
        let states: Vec<_> = self.states.borrow().values().map(Rc::clone).collect();
        for state in states {
            state.end_when_idle();
        }
    }
}

impl Drop for DrainableConnection {
    fn drop(&mut self) {
        self.connections.states.borrow_mut().remove(&self.key);
    }
}
