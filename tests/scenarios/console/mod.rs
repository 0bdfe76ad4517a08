//! The console: its page, its live data, and what the admin API has for it.

mod calls;
mod guards;
mod live;
mod nodes;
mod serving;
mod task_counts;
