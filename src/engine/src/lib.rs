//! The workflow engine: compile once, run many.
