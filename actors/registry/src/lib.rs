//! Stored definitions to one immutable snapshot.
