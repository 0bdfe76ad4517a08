//! The console: its page, and what the admin API has for it.

mod calls;
mod guards;
mod nodes;
mod serving;
