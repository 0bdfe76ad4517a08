//! Who is let in and who is not: signatures made by the providers' own libraries, mutations of valid requests, and every
//! reason to refuse.

mod build;
mod golden;
mod meaning;
mod mutation;
mod parsers;
mod reasons;
mod support;
