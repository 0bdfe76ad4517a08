//! Rotation: the refresh of tokens whose refresh token may be used once only.
//!
//! One process refreshes at a time, and no refresh token is presented twice. A refresh runs under a lease in
//! the database: it presents the refresh token that is stored there, and ends when its successor is stored. A
//! process that finds the lease taken waits for the tokens that the holder stores. Before the first refresh
//! nothing is stored, and the seed is presented: the refresh token in the definition of the connector.
//!
//! A successor that cannot be stored is kept in memory, saved as soon as the database accepts it, and
//! presented by the next refresh. If the process is killed before that, the successor is lost, and the
//! connector needs a new seed.

use std::sync::Arc;
use std::time::Duration;

use slog::{error, info, warn};
use svc_model::ErrorReason;
use svc_model::id::new_ordered_id;
use svc_store::{ExpectedTokens, RefreshLease, SaveOutcome, TokenState};
use tokio::time::{Instant, sleep};

use crate::tokens::error::TokenError;
use crate::tokens::shared::{REQUEST_LIMIT, TokenContext};
use crate::tokens::slot::TokenSlot;
use crate::tokens::state::{AccessToken, ExpiringToken};

/// The duration of the lease under which a process refreshes.
const LEASE: Duration = Duration::from_secs(30);
/// The part of the lease that must remain after a request, so that the response can be stored.
const STORING: Duration = Duration::from_secs(10);
/// Further reads of the stored tokens, while another process refreshes, before a refresh fails.
const MAX_READS: usize = 10;
/// Delay between two of these reads.
const READ_DELAY: Duration = Duration::from_millis(500);
/// Delay before each attempt to save tokens that could not be saved at once.
const SAVE_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of these attempts.
const MAX_SAVES: usize = 600;

/// The state of one connector that only refreshes use.
#[derive(Default)]
pub(crate) struct Rotation {
    /// The refresh token that this process obtained or read last.
    held: Option<String>,
    /// Tokens that are not saved yet. They replace stored ones, which must not be presented again.
    unsaved: Option<Unsaved>,
}

/// Tokens that could not be stored.
#[derive(Clone)]
struct Unsaved {
    /// Id of the connector, whose name may have changed since.
    connector: String,
    /// The holder of the lease under which they were obtained.
    holder: String,
    /// The stored tokens that they replace.
    before: ExpectedTokens,
    state: TokenState,
    /// The end of the lifetime of the access token.
    ends: Instant,
}

impl Rotation {
    /// Returns the refresh token to present, the first of these: the unsaved one if it replaces what is
    /// stored, the stored one, the one this process knew last, the seed.
    fn token_to_present(&self, stored: Option<&str>, seed: &str) -> String {
        let unsaved = self.unsaved.as_ref().filter(|unsaved| match (&unsaved.before, stored) {
            (ExpectedTokens::These(before), Some(stored)) => before == stored,
            (ExpectedTokens::These(_), None) | (_, Some(_)) => false,
            (_, None) => true,
        });
        let successor = unsaved.map(|unsaved| unsaved.state.refresh_token.as_str());
        successor.or(stored).or(self.held.as_deref()).unwrap_or(seed).to_owned()
    }

    /// Returns true if no tokens wait to be saved.
    pub(crate) fn is_saved(&self) -> bool {
        self.unsaved.is_none()
    }
}

/// The lease of this process to refresh the tokens of a connector, and the tokens that it found.
struct RefreshTurn {
    /// Id of the connector.
    connector: String,
    holder: String,
    /// The instant before the lease was requested; it ends [`LEASE`] after this.
    since: Instant,
    /// The stored tokens, which are not fresh.
    stored: Option<TokenState>,
}

/// The result of [`find`].
enum StoredOrTurn {
    /// Tokens that are fresh.
    Tokens(TokenState),
    /// The lease to obtain tokens: there are no fresh ones.
    Turn(RefreshTurn),
}

/// Takes fresh tokens from the database, or refreshes them. Tokens that cannot be saved are returned all the
/// same and stay in `rotation`, from which [`save_later`] saves them.
///
/// # Errors
/// The lease or fresh tokens cannot be had from the database, or the token endpoint grants none.
pub(crate) async fn refresh(
    context: &TokenContext,
    slot: &TokenSlot,
    seed: &str,
    rotation: &mut Rotation,
) -> Result<ExpiringToken, TokenError> {
    let lease = match find(context, slot, rotation).await? {
        StoredOrTurn::Turn(lease) => lease,
        StoredOrTurn::Tokens(stored) => {
            let ends = Instant::now() + stored.lifetime;
            rotation.held = Some(stored.refresh_token);
            rotation.unsaved = None;
            return Ok(ExpiringToken { token: Arc::new(AccessToken::new(stored.access_token)), ends });
        }
    };
    if lease.since.elapsed() + REQUEST_LIMIT + STORING > LEASE {
        release(context, slot, &lease.holder).await;
        return Err(TokenError::unavailable(
            &slot.connector,
            "the database took too long to let it refresh its token",
        ));
    }
    let stored = lease.stored.map(|stored| stored.refresh_token);
    let presented = rotation.token_to_present(stored.as_deref(), seed);
    let before = match stored {
        Some(stored) => ExpectedTokens::These(stored),
        // Tokens of this configuration were stored once, and were replaced by those of another one.
        None if rotation.held.is_some() => ExpectedTokens::Nothing,
        None => ExpectedTokens::Others,
    };
    let granted = match context.obtain(slot, Some(&presented)).await {
        Ok(granted) => granted,
        Err(error) => {
            release(context, slot, &lease.holder).await;
            return Err(error);
        }
    };
    let ends = Instant::now() + granted.lifetime;
    let token = Arc::new(AccessToken::new(granted.access_token.clone()));
    let state = TokenState {
        fingerprint: slot.terms.oauth.fingerprint.clone(),
        access_token: granted.access_token,
        lifetime: granted.lifetime,
        refresh_token: granted.refresh_token.unwrap_or(presented),
    };
    rotation.held = Some(state.refresh_token.clone());
    rotation.unsaved =
        Some(Unsaved { connector: lease.connector, holder: lease.holder, before, state, ends });
    if let Err(why) = save(context, slot, rotation).await {
        error!(context.log, "refreshed tokens could not be stored, they are kept in memory";
            "connector" => &*slot.connector, "reason" => why);
        (context.errors)(ErrorReason::OauthStatePersist);
    }
    Ok(ExpiringToken { token, ends })
}

/// Reads the stored tokens until they are fresh, or this process holds the lease to refresh them.
///
/// # Errors
/// The connector was renamed or deleted, its tokens cannot be read, or another process refreshes for too
/// long.
async fn find(
    context: &TokenContext,
    slot: &TokenSlot,
    rotation: &Rotation,
) -> Result<StoredOrTurn, TokenError> {
    let holder = format!("{}:{}", context.holder, new_ordered_id());
    let mut first: Option<Option<String>> = None;
    for _ in 0..=MAX_READS {
        if first.is_some() {
            sleep(READ_DELAY).await;
        }
        let since = Instant::now();
        let RefreshLease { connector, turn, abandoned, state } = look(context, slot, &holder).await?;
        let Some(connector) = connector else {
            // The tokens are stored under the new name. A refresh under this one would present the seed
            // again.
            let reason = "it was renamed or deleted, its token is not refreshed under this name";
            return Err(TokenError::unavailable(&slot.connector, reason));
        };
        let stored = match state {
            Ok(stored) => stored,
            Err(why) => {
                if turn {
                    release(context, slot, &holder).await;
                }
                let reason = format!(
                    "its stored tokens cannot be read ({why}); restore the key, or update it with a fresh refresh_token"
                );
                return Err(TokenError::rejected(&slot.connector, reason));
            }
        };
        let stored_token = stored.as_ref().map(|stored| stored.access_token.clone());
        let is_news = first.as_ref().is_some_and(|first| *first != stored_token);
        let stored = match stored {
            Some(stored) if serves(slot, rotation, &stored, is_news) => {
                if turn {
                    release(context, slot, &holder).await;
                }
                return Ok(StoredOrTurn::Tokens(stored));
            }
            stored => stored,
        };
        if turn {
            if abandoned {
                warn!(context.log, "a refresh was begun and never ended, its refresh token may be lost";
                    "connector" => &*slot.connector);
            }
            return Ok(StoredOrTurn::Turn(RefreshTurn { connector, holder, since, stored }));
        }
        first.get_or_insert(stored_token);
    }
    Err(TokenError::unavailable(&slot.connector, "its token is being refreshed elsewhere and is not ready"))
}

/// Returns `true` if stored tokens can be used: they are fresh, or were obtained while this process waited;
/// memory holds no successor of them; and the slot admits the access token.
fn serves(slot: &TokenSlot, rotation: &Rotation, stored: &TokenState, is_news: bool) -> bool {
    let lives = stored.lifetime > slot.margin() || (is_news && !stored.lifetime.is_zero());
    let superseded = rotation
        .unsaved
        .as_ref()
        .is_some_and(|unsaved| unsaved.before == ExpectedTokens::These(stored.refresh_token.clone()));
    lives && !superseded && slot.state().admits(&stored.access_token)
}

/// Takes the lease if it is free, and reads the stored tokens.
async fn look(context: &TokenContext, slot: &TokenSlot, holder: &str) -> Result<RefreshLease, TokenError> {
    let fingerprint = &slot.terms.oauth.fingerprint;
    context.states.begin(&slot.connector, fingerprint, holder, LEASE).await.map_err(|why| {
        warn!(context.log, "the stored tokens of a connector cannot be looked at";
            "connector" => &*slot.connector, "reason" => %why);
        TokenError::unavailable(&slot.connector, "its stored tokens cannot be looked at")
    })
}

/// Gives the lease back. A failure is only logged, because the lease ends by itself.
async fn release(context: &TokenContext, slot: &TokenSlot, holder: &str) {
    if let Err(why) = context.states.release(holder).await {
        warn!(context.log, "the turn to refresh a token could not be given back, it ends by itself";
            "connector" => &*slot.connector, "reason" => %why);
    }
}

/// Saves the unsaved tokens, if there are any. They leave memory when they are saved, when other tokens were
/// stored meanwhile, and when the connector was deleted.
///
/// # Errors
/// The reason why they were not saved; [`Rotation::is_saved`] says whether another attempt makes sense.
async fn save(context: &TokenContext, slot: &TokenSlot, rotation: &mut Rotation) -> Result<(), String> {
    let Some(Unsaved { connector, holder, before, state, ends }) = rotation.unsaved.clone() else {
        return Ok(());
    };
    let state = TokenState { lifetime: ends.saturating_duration_since(Instant::now()), ..state };
    let outcome = context.states.save(&connector, &holder, before, state).await;
    match outcome.map_err(|why| why.to_string())? {
        SaveOutcome::Saved => {
            rotation.unsaved = None;
            Ok(())
        }
        SaveOutcome::Gone => {
            info!(context.log, "refreshed tokens are not stored, their connector was deleted meanwhile";
                "connector" => &*slot.connector);
            rotation.unsaved = None;
            Ok(())
        }
        SaveOutcome::Overtaken => {
            rotation.unsaved = None;
            Err("others were stored meanwhile".to_owned())
        }
    }
}

/// Saves the unsaved tokens of a connector in the background. Ends when nothing is left to save, and gives up
/// after [`MAX_SAVES`] attempts.
pub(crate) async fn save_later(context: &TokenContext, slot: &TokenSlot) {
    for _ in 0..MAX_SAVES {
        sleep(SAVE_DELAY).await;
        let mut rotation = slot.flight.lock().await;
        let saved = save(context, slot, &mut rotation).await;
        if rotation.is_saved() {
            let outcome = saved.err().unwrap_or_else(|| "they are stored".to_owned());
            info!(context.log, "tokens are no longer kept in memory alone";
                "connector" => &*slot.connector, "outcome" => outcome);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsaved_rotation(before: Option<&str>, next: &str) -> Rotation {
        let state = TokenState {
            fingerprint: String::new(),
            access_token: String::new(),
            lifetime: Duration::ZERO,
            refresh_token: next.to_owned(),
        };
        let holder = String::new();
        let before = before.map_or(ExpectedTokens::Others, |before| ExpectedTokens::These(before.to_owned()));
        let connector = String::new();
        let unsaved = Unsaved { connector, holder, before, state, ends: Instant::now() };
        Rotation { held: Some(next.to_owned()), unsaved: Some(unsaved) }
    }

    #[test]
    fn stored_refresh_token_wins_over_remembered_and_seed() {
        let remembers = Rotation { held: Some("held".into()), unsaved: None };
        assert_eq!(Rotation::default().token_to_present(None, "seed"), "seed");
        assert_eq!(remembers.token_to_present(None, "seed"), "held");
        assert_eq!(remembers.token_to_present(Some("stored"), "seed"), "stored");
    }

    #[test]
    fn unsaved_tokens_replace_only_their_predecessors() {
        assert_eq!(unsaved_rotation(Some("old"), "next").token_to_present(Some("old"), "seed"), "next");
        assert_eq!(unsaved_rotation(Some("old"), "next").token_to_present(Some("newer"), "seed"), "newer");
        assert_eq!(unsaved_rotation(None, "next").token_to_present(None, "seed"), "next");
        assert_eq!(unsaved_rotation(None, "next").token_to_present(Some("newer"), "seed"), "newer");
    }
}
