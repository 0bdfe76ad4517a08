//! Leases of recurring jobs of which one run for all processes is enough.

use std::time::Duration;

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::schema::{job_leases, nodes};
use crate::writer::UnitOutcome;

/// The leases of jobs, by the names of the jobs.
#[derive(Clone)]
pub struct JobLeases(pub(crate) Database);

impl JobLeases {
    /// Takes or renews the lease of a job for `ttl`, by the clock of the database. Returns whether `node` holds it now.
    /// The holder always renews; another node takes a lease that has run out, or whose holder is no longer live.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn acquire(&self, job: &'static str, node: &str, ttl: Duration) -> Result<bool, StoreError> {
        let node = node.to_owned();
        self.0
            .write(QueryOperation::new("job_leases", "acquire"), move |conn| {
                Box::pin(async move { acquire(conn, job, &node, ttl).await.map(UnitOutcome::Keep) })
            })
            .await
    }
}

async fn acquire(conn: &mut Conn, job: &str, node: &str, ttl: Duration) -> Result<bool, StoreError> {
    let now = clock::now(conn).await?;
    let expires_at = FromNow::seconds(ttl.as_secs_f64());
    let first = (
        job_leases::job_name.eq(job),
        job_leases::holder.eq(node),
        job_leases::expires_at.eq(expires_at.clone()),
    );
    let new = diesel::insert_into(job_leases::table).values(first).on_conflict_do_nothing();
    if on!(conn, c => new.execute(c).await)? > 0 {
        return Ok(true);
    }
    let dead_holder =
        nodes::table.filter(nodes::id.eq(job_leases::holder)).filter(nodes::lease_until.lt(now));
    let free = job_leases::table
        .find(job)
        .filter(job_leases::holder.eq(node).or(job_leases::expires_at.lt(now)).or(exists(dead_holder)));
    let lease_columns = (job_leases::holder.eq(node), job_leases::expires_at.eq(expires_at));
    Ok(on!(conn, c => diesel::update(free).set(lease_columns).execute(c).await)? > 0)
}
