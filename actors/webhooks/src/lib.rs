//! Webhooks to customers.
//!
//! The function `send_webhook` accepts an event: one row of the store for each endpoint of its topic, before the task ends.
//! The actor of each node claims due rows under a lease and makes one attempt at each over the connector of the endpoint,
//! signed as [Standard Webhooks](https://www.standardwebhooks.com) says. An attempt ends before its lease does, so that no
//! two attempts at one event go on at a time, whatever node is killed or stopped meanwhile.
//!
//! Endpoints in trouble have lanes of their own (`delivery/state.rs`), which bounds what they take from the others. The
//! state that survives a restart of the actor is in the store; what wakes it is in the handle.

mod delivery;
mod function;
mod handle;
mod message;
mod metrics;
mod order_pace;
mod sender;
mod settings;
mod shared;

pub use function::register;
pub use handle::{SentTest, VerifiedEndpoint, WebhookHandle, WebhookParts};
pub use message::{generate_secret, secret_problem};
pub use metrics::WebhookMetrics;
pub use sender::WebhookSender;
pub use settings::Settings;
