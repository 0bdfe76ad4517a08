//! Who is let in and who is not: signatures made by the providers' own libraries, tokens of other makers, mutations of valid
//! requests, and every reason to refuse.

#![expect(clippy::unwrap_used, reason = "tests")]

mod build;
mod golden;
mod jwt;
mod meaning;
mod mutation;
mod parsers;
mod reasons;
mod support;
