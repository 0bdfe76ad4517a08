//! Credentials that are fetched once for all who use them, and kept fresh: the key sets of token issuers, which verify
//! callers, and the OAuth2 tokens of outbound calls; and the way to the providers at which people sign in.

pub mod keysets;
pub mod sign_in;
pub mod single_flight;
pub mod tokens;
