//! Tokens of connectors whose refresh token changes with each use, and the lease for its use.
//!
//! Each connector has one row, under its name, encrypted if a key is configured and bound to the id of the
//! connector. The lease of its refresh is a row of `job_leases`, on the clock of the database. Both follow a
//! renamed connector, and the holder of the lease knows the connector by its id, so a rename in between loses
//! nothing. A row is replaced only while it holds the tokens that the writer has read: a writer that was
//! overtaken writes nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use svc_model::EntityKind;
use svc_secrets::{EnvelopeError, EnvelopeKeys};

use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::connections::pool::TransactionFn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::definitions::rows::ONLY_VERSION;
use crate::repo::seal::{seal, state_place};
use crate::schema::{connector_oauth_state as states, definitions, job_leases};

/// Prefix of the name of a refresh lease, before the name of the connector.
const LEASE: &str = "oauth-refresh:";

/// The stored tokens.
#[derive(Clone)]
pub struct TokenStates {
    pub(crate) database: Database,
    pub(crate) keys: Arc<EnvelopeKeys>,
}

/// The tokens of a connector.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenState {
    /// Fingerprint of the settings they were obtained with.
    pub fingerprint: String,
    /// The token that calls present.
    pub access_token: String,
    /// Remaining lifetime of the access token by the clock of the database; zero if it has expired.
    pub lifetime: Duration,
    /// The token that obtains the next access token.
    pub refresh_token: String,
}

impl TokenState {
    fn same_tokens(&self, other: &Self) -> bool {
        self.refresh_token == other.refresh_token && self.access_token == other.access_token
    }
}

/// Omits the tokens.
impl fmt::Debug for TokenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenState").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

/// The stored tokens of a connector, and the lease to refresh them.
#[derive(Clone, Debug)]
pub struct RefreshLease {
    /// Id of the connector; `None` if no connector has this name (any more), so there is nothing to refresh.
    pub connector: Option<String>,
    /// True if the caller holds the lease to refresh them.
    pub turn: bool,
    /// True if the previous holder never ended its lease.
    pub abandoned: bool,
    /// The tokens of this fingerprint; `None` if there are none, or the reason why they cannot be decrypted.
    pub state: Result<Option<TokenState>, EnvelopeError>,
}

/// The expected state of the row that new tokens replace.
#[derive(Clone, PartialEq, Eq)]
pub enum ExpectedTokens {
    /// Tokens of the same fingerprint with this refresh token.
    These(String),
    /// No tokens, or tokens of another fingerprint, because the connector was changed.
    Others,
    /// No tokens. Tokens of another fingerprint stay, because the connector was changed and the caller does
    /// not know it yet.
    Nothing,
}

/// Shows only the kind: a token is a secret.
impl fmt::Debug for ExpectedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::These(_) => "These",
            Self::Others => "Others",
            Self::Nothing => "Nothing",
        })
    }
}

/// The result of saving tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveOutcome {
    /// The tokens are on disk.
    Saved,
    /// Others were saved in between, and stay.
    Overtaken,
    /// The connector does not exist; nothing was saved.
    Gone,
}

/// Returns the first row of a query for a connector, and prevents its deletion or renaming until the
/// transaction ends.
macro_rules! held {
    ($conn:ident, $query:expr) => {
        match $conn {
            Conn::Sqlite(c) => $query.first(c).await.optional(),
            Conn::Postgres(c) => $query.for_share().first(&mut **c).await.optional(),
        }
    };
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("token_states", method)
}

struct BeginRequest {
    /// Name of the connector.
    connector: String,
    holder: String,
    fingerprint: String,
    lease: Duration,
    keys: Arc<EnvelopeKeys>,
}

struct SaveRequest {
    /// Id of the connector.
    connector: String,
    holder: String,
    before: ExpectedTokens,
    state: TokenState,
    keys: Arc<EnvelopeKeys>,
}

impl TokenStates {
    /// Takes the lease to refresh the tokens of the connector with this name for `lease`, if it is free, and
    /// reads the tokens. `holder` must be unique for each call.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. The lease may be taken then; it expires.
    pub async fn begin(
        &self,
        connector: &str,
        fingerprint: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<RefreshLease, StoreError> {
        let (connector, holder) = (connector.to_owned(), holder.to_owned());
        let fingerprint = fingerprint.to_owned();
        let begin = BeginRequest { connector, holder, fingerprint, lease, keys: Arc::clone(&self.keys) };
        let step: TransactionFn<_, _> = |conn, begin| Box::pin(acquire_turn(conn, begin));
        self.database.transact(operation("begin"), begin, step).await
    }

    /// Saves the tokens of the connector with this id, under its current name, in place of the expected ones,
    /// and releases the lease.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn save(
        &self,
        connector: &str,
        holder: &str,
        before: ExpectedTokens,
        state: TokenState,
    ) -> Result<SaveOutcome, StoreError> {
        let (connector, holder) = (connector.to_owned(), holder.to_owned());
        let save = SaveRequest { connector, holder, before, state, keys: Arc::clone(&self.keys) };
        let step: TransactionFn<_, _> = |conn, save| Box::pin(keep(conn, save));
        self.database.transact(operation("save"), save, step).await
    }

    /// Releases the lease without saving tokens.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. The lease then expires.
    pub async fn release(&self, holder: &str) -> Result<(), StoreError> {
        let step: TransactionFn<_, _> = |conn, holder: &String| Box::pin(release(conn, holder));
        self.database.transact(operation("release"), holder.to_owned(), step).await
    }
}

async fn acquire_turn(conn: &mut Conn, begin: &BeginRequest) -> Result<RefreshLease, StoreError> {
    let named = definitions::table
        .filter(definitions::kind.eq(EntityKind::Connector.name()))
        .filter(definitions::name.eq(&begin.connector))
        .select(definitions::id);
    let connector: Option<String> = held!(conn, named)?;
    let Some(id) = &connector else {
        return Ok(RefreshLease { connector, turn: false, abandoned: false, state: Ok(None) });
    };
    let job = job(&begin.connector);
    let ended = job_leases::table.find(&job).filter(job_leases::expires_at.le(Now));
    let abandoned = on!(conn, c => diesel::delete(ended).execute(c).await)? > 0;
    let lease = (
        job_leases::job_name.eq(&job),
        job_leases::holder.eq(&begin.holder),
        job_leases::expires_at.eq(FromNow::seconds(begin.lease.as_secs_f64())),
    );
    let take = diesel::insert_into(job_leases::table).values(lease).on_conflict_do_nothing();
    let turn = on!(conn, c => take.execute(c).await)? > 0;
    let now = clock::now(conn).await?;
    let stored = find(conn, &begin.connector).await?.filter(|kept| kept.0 == begin.fingerprint);
    let state =
        stored.map(|(fingerprint, text)| decrypt(id, fingerprint, &text, now, &begin.keys)).transpose();
    Ok(RefreshLease { connector, turn, abandoned: turn && abandoned, state: state.map(Option::flatten) })
}

async fn keep(conn: &mut Conn, save: &SaveRequest) -> Result<SaveOutcome, StoreError> {
    let key = (EntityKind::Connector.name(), save.connector.as_str(), ONLY_VERSION);
    let named = definitions::table.find(key).select(definitions::name);
    let name: Option<String> = held!(conn, named)?;
    let outcome = match name {
        None => SaveOutcome::Gone,
        Some(name) => save_tokens(conn, &name, save).await?,
    };
    release(conn, &save.holder).await?;
    Ok(outcome)
}

/// The content of a row, relative to a fingerprint.
enum StoredTokens {
    None,
    Foreign,
    Own(TokenState),
}

async fn save_tokens(conn: &mut Conn, name: &str, save: &SaveRequest) -> Result<SaveOutcome, StoreError> {
    let SaveRequest { before, state, keys, .. } = save;
    let now = clock::now(conn).await?;
    let present = match find(conn, name).await? {
        None => StoredTokens::None,
        Some((fingerprint, _)) if fingerprint != state.fingerprint => StoredTokens::Foreign,
        Some((fingerprint, text)) => decrypt(&save.connector, fingerprint, &text, now, keys)
            .ok()
            .flatten()
            .map_or(StoredTokens::None, StoredTokens::Own),
    };
    let fits = match (&present, before) {
        (StoredTokens::Own(own), _) if own.same_tokens(state) => return Ok(SaveOutcome::Saved),
        (StoredTokens::Own(own), ExpectedTokens::These(refresh_token)) => own.refresh_token == *refresh_token,
        (StoredTokens::None, ExpectedTokens::Others | ExpectedTokens::Nothing)
        | (StoredTokens::Foreign, ExpectedTokens::Others) => true,
        _ => false,
    };
    if !fits {
        return Ok(SaveOutcome::Overtaken);
    }
    let ends_at = now
        .and_utc()
        .timestamp_millis()
        .saturating_add_unsigned(u64::try_from(state.lifetime.as_millis()).unwrap_or(u64::MAX));
    let text = json!({"access_token": state.access_token, "expires_at_epoch_ms": ends_at,
        "refresh_token": state.refresh_token});
    let sealed = seal(&text.to_string(), state_place(&save.connector), keys)?;
    let row = (states::fingerprint.eq(&state.fingerprint), states::state_json.eq(sealed));
    let upsert = diesel::insert_into(states::table)
        .values((states::connector_name.eq(name), row.clone()))
        .on_conflict(states::connector_name)
        .do_update()
        .set(row);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(SaveOutcome::Saved)
}

/// Releases the lease whatever the current name of the connector.
async fn release(conn: &mut Conn, holder: &str) -> Result<(), StoreError> {
    let refreshes = job_leases::table.filter(job_leases::job_name.like(format!("{LEASE}%")));
    let own = refreshes.filter(job_leases::holder.eq(holder));
    on!(conn, c => diesel::delete(own).execute(c).await)?;
    Ok(())
}

/// Returns the fingerprint and the text of the row of a connector, locked until the transaction ends.
async fn find(conn: &mut Conn, connector: &str) -> Result<Option<(String, String)>, StoreError> {
    let row = states::table.find(connector).select((states::fingerprint, states::state_json));
    Ok(match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_update().first(&mut **c).await.optional()?,
    })
}

/// Decrypts the tokens in the text of a row; `None` if it holds something else.
fn decrypt(
    connector: &str,
    fingerprint: String,
    kept: &str,
    now: NaiveDateTime,
    keys: &EnvelopeKeys,
) -> Result<Option<TokenState>, EnvelopeError> {
    let text: Value = serde_json::from_str(&keys.open(kept, state_place(connector))?).unwrap_or_default();
    let field = |name: &str| text[name].as_str().map(str::to_owned);
    let (Some(access_token), Some(refresh_token)) = (field("access_token"), field("refresh_token")) else {
        return Ok(None);
    };
    let ends_at = text["expires_at_epoch_ms"].as_i64().unwrap_or_default();
    let remaining = ends_at.saturating_sub(now.and_utc().timestamp_millis());
    let lifetime = Duration::from_millis(u64::try_from(remaining).unwrap_or_default());
    Ok(Some(TokenState { fingerprint, access_token, lifetime, refresh_token }))
}

fn job(connector: &str) -> String {
    format!("{LEASE}{connector}")
}

/// Deletes the tokens of a connector.
pub(super) async fn forget(conn: &mut Conn, connector: &str) -> Result<(), StoreError> {
    on!(conn, c => diesel::delete(states::table.find(connector)).execute(c).await)?;
    on!(conn, c => diesel::delete(job_leases::table.find(job(connector))).execute(c).await)?;
    Ok(())
}

/// Renames the row of the tokens and the refresh lease with their connector.
pub(super) async fn rename(conn: &mut Conn, from: &str, to: &str) -> Result<(), StoreError> {
    forget(conn, to).await?;
    let change = diesel::update(states::table.find(from)).set(states::connector_name.eq(to));
    on!(conn, c => change.execute(c).await)?;
    let turn = diesel::update(job_leases::table.find(job(from))).set(job_leases::job_name.eq(job(to)));
    on!(conn, c => turn.execute(c).await)?;
    Ok(())
}
