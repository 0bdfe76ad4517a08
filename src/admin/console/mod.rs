//! Reads of the console: the live stream and the configuration in effect.

mod config;
mod live;

pub(super) use config::show as show_config;
pub(super) use live::stream as stream_live;
