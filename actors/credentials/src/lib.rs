//! Credentials that are fetched once for all who use them, and kept fresh: the key sets of token issuers, which verify
//! callers, and the OAuth2 tokens of outbound calls.

pub mod keysets;
pub mod single_flight;
pub mod tokens;
