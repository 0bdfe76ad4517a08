//! Backtests of stored workflows and channels over stored recordings: one at a time on a node.
//!
//! A backtest is a row of the store. One actor on each node takes the oldest that no other live node makes, under a
//! lease, and writes its report so far each second; another node goes on from there after a crash. The version is
//! compiled by the engine of the offline commands, with stand-ins for all that reaches outside: no connection is opened
//! and no cache is touched. It runs on a thread of its own, which rests after each piece of work. The actor takes no
//! messages: a notification wakes it after an operator's order, and it polls as well.

mod actor;
mod subject;
mod terms;
mod work;

pub(crate) use actor::{BacktestDriver, BacktestShared};
pub(crate) use subject::BacktestSubject;
pub(crate) use terms::BacktestTerms;
