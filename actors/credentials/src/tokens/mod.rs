//! OAuth2 tokens for outbound calls: obtained when they are first needed, kept fresh, and shared by all who
//! call.
//!
//! [`Tokens`] hands out a [`TokenSource`] for each connector. Sources of one name and one set of settings
//! share their tokens. A fresh token is read on any thread without a message; a caller that needs another
//! has the one actor obtain it, once for all callers. A fetch belongs to the actor: it goes on when its
//! caller is dropped.
//!
//! - A token is replaced when less than the refresh margin of its life is left. One whose whole life is not
//!   longer than that serves the callers that waited for it, and no later one.
//! - A failure that another request cannot cure (a refusal, a token of another type, a forbidden address) is
//!   the answer to all callers for 30 seconds, without a request. After any other failure the next call
//!   requests again.
//! - A token that the API refuses is dropped, and no other: the refresh token stays.
//!
//! With the grant `refresh_token` each response brings the next refresh token, and a second use of one
//! revokes them all. Therefore one process at a time refreshes, under a lease in the database. The tokens are
//! stored before any caller receives them; a process that finds fresh ones there uses them. Tokens of this
//! grant survive the process, and a kill at any moment except between the response of the token endpoint and
//! the commit. Tokens of the other grants do not survive, and need not.
//!
//! No token, secret or description of an endpoint is in an error or a metric.

mod error;
mod fetcher;
mod handle;
mod metrics;
mod request;
mod response;
mod rotation;
mod shared;
mod slot;
mod source;
mod state;

pub use error::TokenError;
pub use handle::{Settings, Tokens, TokensStartError};
pub use metrics::TokenMetrics;
pub use request::secrets;
pub use source::TokenSource;
pub use state::{AccessToken, TokenStatus};
