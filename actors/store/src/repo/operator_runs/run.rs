//! A run of an operator: its state, the proof of the node that carries it out, and what a kind of runs declares.

use std::time::Duration;

use chrono::NaiveDateTime;
use futures_util::future::BoxFuture;
use serde_json::Value;
use svc_model::{AuditAction, AuditResource, Page, Timestamp};

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::words::words;

words! {
    /// The state of a run of an operator: of a bulk run or of a backtest.
    OperatorRunState {
        /// No node has taken it yet. A bulk run is never in this state.
        Pending = "pending",
        /// A node carries it out.
        Running = "running",
        /// An operator ended it; its node has not noticed yet.
        Aborting = "aborting",
        /// It ended before its last row.
        Aborted = "aborted",
        /// It went over all rows.
        Completed = "completed",
        /// It cannot go on.
        Failed = "failed",
    }
}

impl OperatorRunState {
    /// Returns true if the run has ended.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Aborted | Self::Completed | Self::Failed)
    }
}

/// The states of runs that have not ended.
pub(in crate::repo) const OPEN_STATES: [&str; 3] =
    [OperatorRunState::Pending.name(), OperatorRunState::Running.name(), OperatorRunState::Aborting.name()];

/// The proof of the node that carries out a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorRunClaim {
    /// Id of the run.
    pub id: String,
    /// The node that carries it out.
    pub holder: String,
    /// Position of the run as the node knows it.
    pub position: Option<String>,
}

/// A statement of the table of a kind of runs.
pub(in crate::repo) type RunFuture<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// The columns that each kind of runs has, and their statements. `run_table!` implements it.
pub(in crate::repo) trait RunTable: Sized + Send + Sync + 'static {
    /// Name of the table.
    const NAME: &'static str;

    fn id(&self) -> &str;

    fn state(&self) -> &str;

    fn started_by(&self) -> &str;

    fn set_state(&mut self, state: OperatorRunState);

    fn set_ended_at(&mut self, at: Timestamp);

    /// Returns true if the claim is still valid and knows the position of the run.
    fn matches_claim(&self, claim: &OperatorRunClaim) -> bool;

    fn get<'c>(conn: &'c mut Conn, id: &'c str) -> RunFuture<'c, Option<Self>>;

    /// Reads a run and locks it.
    fn lock<'c>(conn: &'c mut Conn, id: &'c str) -> RunFuture<'c, Option<Self>>;

    /// Returns a page of the runs, the newest first, and the number of all.
    fn list(conn: &mut Conn, page: Page) -> RunFuture<'_, (Vec<Self>, i64)>;

    /// Returns the ids of the runs that have not ended, the oldest first.
    fn list_open(conn: &mut Conn) -> RunFuture<'_, Vec<String>>;

    /// Makes `holder` the holder of an open run that no other live node holds at `now`. Returns true if it is.
    fn take<'c>(
        conn: &'c mut Conn,
        id: &'c str,
        holder: &'c str,
        now: NaiveDateTime,
        lease: Duration,
    ) -> RunFuture<'c, bool>;

    /// Renews the lease of a locked run.
    fn renew<'c>(conn: &'c mut Conn, id: &'c str, lease: Duration) -> RunFuture<'c, ()>;

    /// Deletes at most `chunk` runs that ended before an instant. Returns their number.
    fn delete_ended(conn: &mut Conn, before: NaiveDateTime, chunk: i64) -> RunFuture<'_, u64>;
}

/// A kind of runs of operators.
pub(in crate::repo) trait OperatorRun: RunTable {
    /// A run that is to begin.
    type Order: Send + Sync + 'static;
    /// A run that a node has taken.
    type Claimed: Send + 'static;

    /// The name of a run in messages.
    const NOUN: &'static str;
    /// Maximum number of runs that a node takes at a time.
    const MOST_CLAIMED: usize;
    /// Action and resource of the audit row of its end.
    const END: AuditAction;
    const RESOURCE: AuditResource;

    /// Returns the clause of a refusal that says how many may be open.
    fn describe_bound(most: usize) -> String;

    /// Returns the details of the audit row of its end.
    fn describe_end(&self) -> Value;

    fn insert<'c>(conn: &'c mut Conn, id: &'c str, order: &'c Self::Order) -> RunFuture<'c, ()>;

    /// Writes the progress of a locked run.
    fn save<'c>(conn: &'c mut Conn, run: &'c Self) -> RunFuture<'c, ()>;

    /// Reads what the node needs to carry out a run that it has taken.
    fn load_claimed(conn: &mut Conn, run: Self) -> RunFuture<'_, Self::Claimed>;
}
