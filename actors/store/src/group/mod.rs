//! Calls of the ledger as values, and their group commit: those of one operation that arrive while a group runs form the
//! next one.
//!
//! A group is one transaction with few statements, whatever the number of calls. It waits for no row that another
//! transaction has locked: it leaves that call out, which joins a later group. A call that several groups have left out, or
//! that needs a transaction of its own, is made alone: as a group of one that waits for locked rows.
//!
//! The database determines the transaction of a group (`run_transaction` of `database.rs`): a file has one writer, which
//! runs the groups of all operations; on a server they run next to one another.

mod call;
mod member_queue;
mod queue;

pub(crate) use call::{CallGroup, GroupAnswer, LedgerCall, SingleCall};
pub(crate) use member_queue::{MOST_BYTES, MemberQueue};
pub(crate) use queue::{CallQueue, GroupTask, MOST_GROUPS, REJOIN_DELAY, WaitingCall};
