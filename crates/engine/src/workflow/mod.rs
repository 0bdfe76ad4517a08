//! Workflows as they are compiled: their parts, their program, and what they depend on.

pub(crate) mod authored;
pub(crate) mod compile;
pub(crate) mod dependencies;
pub(crate) mod fan_out_spec;
pub(crate) mod loop_spec;
pub(crate) mod program;
pub(crate) mod retry_spec;
pub(crate) mod secret_uses;
