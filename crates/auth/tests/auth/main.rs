//! Tests of authentication: signatures of the providers' own libraries, tokens of other implementations,
//! mutations of valid requests, and every reason for a refusal.

#![expect(clippy::unwrap_used, reason = "tests")]

mod build;
mod golden;
mod jwt;
mod meaning;
mod mutation;
mod parsers;
mod reasons;
mod signing;
mod support;
