//! Announcements of changes by PostgreSQL, over a connection of their own.

use std::pin::pin;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::StreamExt;

use crate::conn::Conn;
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::error::StoreError;
use crate::repo::NOTIFICATIONS;

/// A connection that is notified of committed changes. One that broke is closed; announcements made meanwhile are lost.
pub struct ConfigListener {
    conn: AsyncPgConnection,
}

impl ConfigListener {
    /// Opens the connection; `None` if this database announces nothing. Must run on the io runtime.
    pub(crate) async fn open(manager: &ConnectionManager) -> Result<Option<Self>, StoreError> {
        if !manager.announces() {
            return Ok(None);
        }
        let Conn::Postgres(conn) = manager.open(Purpose::Read).await? else { return Ok(None) };
        if !manager.announces() {
            return Ok(None);
        }
        let mut conn = *conn;
        conn.batch_execute(&format!("LISTEN {NOTIFICATIONS}")).await?;
        Ok(Some(Self { conn }))
    }

    /// Waits for the next announcement.
    ///
    /// # Errors
    /// [`StoreError`] once the connection is lost.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        let mut announcements = pin!(self.conn.notifications_stream());
        match announcements.next().await {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(error.into()),
            None => Err(StoreError::Unavailable("the connection was closed".into())),
        }
    }
}
