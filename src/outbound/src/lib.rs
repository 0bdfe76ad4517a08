//! The one way out: an HTTP client that dials only checked addresses.
