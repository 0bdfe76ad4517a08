//! The way to the identity providers at which people sign in.
//!
//! [`SignInNetwork`] hands out the discovery documents of issuers, and sends the requests of sign-ins. All of it is done by
//! one actor, on whose runtime the connections are; the channels on the HTTP threads ask it and wait.
//!
//! - The document of an issuer is read when a channel with it is loaded, and shared by all channels. It must name exactly
//!   that issuer. It is kept for the `max-age` of its answer, at least a minute and at most a day; for an hour without one.
//!   An older one serves on while the next is read: a request waits only for the first document.
//! - A document that cannot be read is asked for again after five seconds at the earliest.
//! - A request to a provider may take ten seconds, and goes on if its caller leaves: a code is good once. Redirects are not
//!   followed. The address that is dialled is the one that was checked.
//!
//! A crash of the actor loses no document: the shared slots hold them. Nothing survives the process.

mod caller;
mod handle;
mod issuer_slot;
mod messages;
#[cfg(test)]
mod tests;

pub use handle::{Settings, SignInNetwork, SignInStartError};
