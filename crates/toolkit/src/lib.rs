//! The commands of authors: they work on files and need no server.

pub(crate) mod case;
pub(crate) mod compile;
pub(crate) mod definitions;
pub(crate) mod dry_run;
pub(crate) mod fmt;
pub(crate) mod lint;
pub(crate) mod new;
pub(crate) mod offline_files;
pub(crate) mod project_files;
pub(crate) mod test;
