//! Key sets of token issuers, fetched once and kept fresh.
