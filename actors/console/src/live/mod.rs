//! The stream of live data: one sampler for all viewers.

mod event;
mod journal;
pub(crate) mod sampler;
pub(crate) mod state;
mod stream;

pub use event::EndReason;
pub use state::{HistoryRequest, TooManyViewers, WatchRequest};
pub use stream::LiveStream;
