//! Administrative operations on the ledger, each recorded in its own transaction.

use svc_model::ServiceError;
use uuid::Uuid;

use super::model::{ChannelFacts, OccurrenceRecord};
use super::{list, materialise, rows};
use crate::clock;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::mutation::{AuditEntry, record};

/// Makes another attempt at an occurrence possible.
pub(super) struct RetryRequest {
    pub(super) id: String,
    pub(super) audit: AuditEntry,
}

impl SingleCall for RetryRequest {
    type Answer = OccurrenceRecord;

    async fn run(&self, conn: &mut Conn) -> Result<OccurrenceRecord, StoreError> {
        let Self { id, audit } = self;
        let row = match Uuid::try_parse(id) {
            Ok(id) => rows::lock(conn, id).await?,
            Err(_) => None,
        };
        let Some((mut row, _)) = row else {
            return Err(match list::get(conn, id).await? {
                None => absent(id),
                // Only another program can have written a row to which no rule applies.
                Some(foreign) => {
                    let status = foreign.row.status;
                    ServiceError::conflict(format!("an occurrence that is {status} cannot be retried")).into()
                }
            });
        };
        row.retry().map_err(|refused| ServiceError::conflict(refused.to_string()))?;
        let now = clock::now(conn).await?;
        rows::save(conn, &row, now).await?;
        record(conn, audit.clone(), id).await?;
        list::get(conn, id).await?.ok_or_else(|| absent(id))
    }
}

/// Records an occurrence that an administrator requests.
pub(super) struct TriggerRequest {
    pub(super) channel: ChannelFacts,
    pub(super) audit: AuditEntry,
}

impl SingleCall for TriggerRequest {
    type Answer = OccurrenceRecord;

    async fn run(&self, conn: &mut Conn) -> Result<OccurrenceRecord, StoreError> {
        let Self { channel, audit } = self;
        let Some(id) = materialise::trigger(conn, channel).await? else {
            let message = format!(
                "channel '{}' has an occurrence at every instant from now that this one may take",
                channel.channel_id
            );
            return Err(ServiceError::conflict(message).into());
        };
        record(conn, audit.clone(), &channel.channel_id).await?;
        let id = id.to_string();
        list::get(conn, &id).await?.ok_or_else(|| absent(&id))
    }
}

fn absent(id: &str) -> StoreError {
    ServiceError::not_found(format!("occurrence '{id}' does not exist")).into()
}
