//! Actions of operators on many rows: requeue, purge, retry and the like, and backfills of schedules.
//!
//! A run is a row of the store. One actor on each node looks for runs without a driver, takes them under a lease, and
//! drives them page by page. What it has done is in the database with the position of the next page, so another node goes
//! on after a crash. The actor takes no messages: a notification wakes it after an operator's order, and it polls as well.
//!
//! Use it only for actions whose whole effect on a row is one write to the database.

mod actor;
mod page;
mod position;
mod reruns;
mod selection;
mod shared;
mod state;
mod step;

pub(crate) use actor::BulkDriver;
pub(crate) use selection::{BulkSelection, SelectedRow, fix_moments, read_list_words};
pub(crate) use shared::BulkShared;
