//! Channel actors: guards and execution.
